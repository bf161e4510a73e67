"""One measurement by OpenVINO GenAI; runs in the environment that ov.py makes.

    ov_worker.py MODEL.gguf THREADS '{"kind": "pp", "prompt": 512, ...}'
"""
import json
import sys

import numpy
import openvino
import openvino_genai as genai


def config(tokens):
    made = genai.GenerationConfig()
    made.max_new_tokens = made.min_new_tokens = tokens
    made.ignore_eos = True
    made.do_sample = False
    return made


def main():
    path, threads, what = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
    scheduler = genai.SchedulerConfig()
    # The warm-up must not answer the measurement.
    scheduler.enable_prefix_caching = False
    scheduler.cache_size = what.get("cache_gb", 1)
    scheduler.max_num_batched_tokens = max(512, min(2048, what.get("prompt", 0)))
    scheduler.max_num_seqs = max(32, what.get("sequences", 1))
    pipeline = genai.LLMPipeline(path, "CPU", scheduler_config=scheduler, INFERENCE_NUM_THREADS=threads,
                                 KV_CACHE_PRECISION=what.get("kv", "f16"))
    if what["kind"] == "start":
        pipeline.generate("Hello", max_new_tokens=1, do_sample=False, apply_chat_template=False)
        return

    vocabulary = len(pipeline.get_tokenizer().get_vocab())

    def generate(length, tokens):
        rows = [[(i + 31 * row) * 7919 % vocabulary for i in range(length)] for row in range(what["sequences"])]
        ids = numpy.array(rows, dtype=numpy.int64)
        inputs = genai.TokenizedInputs(openvino.Tensor(ids), openvino.Tensor(numpy.ones_like(ids)))
        return pipeline.generate(inputs, config(tokens)).perf_metrics

    if what["kind"] == "pp":
        generate(what["prompt"], 2)
        rate = 1000 * what["prompt"] / generate(what["prompt"], 2).get_ttft().mean
    else:
        generate(8, 8)
        # The figure is per token of all sequences together.
        rate = 1000 / generate(max(what["depth"], 1), what["generate"] + 1).get_tpot().mean
    print(json.dumps({"rate": rate}))


main()
