"""Conversion for, and one measurement by, ONNX Runtime GenAI; runs in the environment that ort.py makes.

    ort_worker.py convert MODEL.gguf FOLDER       a Hugging Face folder with the dequantized weights, f16
    ort_worker.py measure FOLDER THREADS '{"kind": "pp", "prompt": 512, ...}'
"""
import json
import os
import sys
import time


def convert(path, folder):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where, name = os.path.split(os.path.abspath(path))
    model = AutoModelForCausalLM.from_pretrained(where, gguf_file=name, dtype=torch.float16)
    # Its weights are plain by now; the mark of the file's format would keep it from being saved.
    model.hf_quantizer, model.is_quantized = None, False
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(where, gguf_file=name).save_pretrained(folder)


def measure(folder, threads, what):
    import numpy
    import onnxruntime_genai as genai

    config = genai.Config(folder)
    config.overlay(json.dumps({"model": {"decoder": {"session_options": {"intra_op_num_threads": threads}}}}))
    model = genai.Model(config)

    def generator(length, sequences):
        params = genai.GeneratorParams(model)
        params.set_search_options(max_length=length, min_length=length, do_sample=False, batch_size=sequences)
        return genai.Generator(model, params)

    if what["kind"] == "start":
        made = generator(64, 1)
        made.append_tokens(genai.Tokenizer(model).encode("Hello"))
        made.generate_next_token()
        return
    with open(os.path.join(folder, "genai_config.json")) as file:
        vocabulary = json.load(file)["model"]["vocab_size"]

    def timed(length, steps):
        """Seconds of the prompt, and of `steps` tokens after its first."""
        made = generator(length + steps + 1, what["sequences"])
        rows = [[(i + 31 * row) * 7919 % vocabulary for i in range(length)] for row in range(what["sequences"])]
        start = time.monotonic()
        made.append_tokens(numpy.array(rows, dtype=numpy.int32))
        made.generate_next_token()
        middle = time.monotonic()
        for _ in range(steps):
            made.generate_next_token()
        return middle - start, time.monotonic() - middle

    if what["kind"] == "pp":
        timed(what["prompt"], 0)
        rate = what["prompt"] / timed(what["prompt"], 0)[0]
    else:
        timed(8, 8)
        rate = what["sequences"] * what["generate"] / timed(max(what["depth"], 1), what["generate"])[1]
    print(json.dumps({"rate": rate}))


if sys.argv[1] == "convert":
    convert(sys.argv[2], sys.argv[3])
else:
    measure(sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4]))
