"""Steps that want the best logit of each row alone answer what the stored logits say.

`logprobs` makes a request need all logits; requests that run alone (--max-seqs 1) decide for their steps alone.
"""

import json
import random

import pytest

import conftest
import support

GGUF = ["llama.Q4_1", "llama-mini.Q8_0", "qwen2.Q4_K_M", "qwen3.Q6_K", "gemma3.Q4_K_M"]


def requests(vocab, tokens):
    """Pairs of a greedy request and the same with logprobs; the odd pairs go on where the model would end."""
    random_ = random.Random(7)
    lines = []
    for i in range(8):
        prompt = [random_.randrange(vocab) for _ in range([1, 3, 17, 40][i % 4])]
        body = {"prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": i % 2 == 1}
        for more in ({}, {"logprobs": 0}):
            lines.append(json.dumps({"custom_id": f"r{i}", "method": "POST", "url": "/v1/completions",
                                     "body": {**body, **more}}))
    return "\n".join(lines) + "\n"


def compare(path, scratch, tokens, ways):
    described = json.loads(support.ingot("inspect", path, "--json").out)
    for variant in described["explain"]:
        classes = {k["rows"] for k in variant["kernels"] if k["family"] == "embed"}
        assert {k["rows"] for k in variant["kernels"] if "_argmax_m" in k["name"]} == classes, variant["isa"]
    vocab = described["vocab"]
    file, output = scratch / "requests.jsonl", scratch / "answers.jsonl"
    file.write_text(requests(vocab, tokens))
    first = None
    for way in ways:
        support.ingot("batch", path, file, "-o", output, *way)
        answers = [json.loads(line)["response"] for line in output.read_text().split("\n") if line]
        assert len(answers) == 16 and all(a["status_code"] == 200 for a in answers), answers
        choices = [(a["body"]["choices"][0]["text"], a["body"]["choices"][0]["finish_reason"], a["body"]["usage"])
                   for a in answers]
        assert choices[0::2] == choices[1::2], way
        assert first in (None, choices), way
        first = choices


WAYS = [[*alone, "-t", threads] for alone in (["--max-seqs", "1"], []) for threads in ("1", "2", "3")]


@pytest.mark.parametrize("name", GGUF)
def test_small(name, golden, scratch):
    file = golden / f"gguf/{name}.gguf"
    if not file.exists():
        pytest.skip(f"{name} is not among the references here")
    pack = scratch / "model.ipk"
    support.ingot("compile", file, "-o", pack, "--emit=pack", f"--target={','.join(support.VARIANTS)}")
    compare(pack, scratch, 12, WAYS + [["--max-seqs", "1", f"--isa={isa}"] for isa in support.VARIANTS])


def test_real(real, scratch):
    compare(real.compiled()[0], scratch, 16, [["--max-seqs", "1", "-t", "1"], ["-t", "2"]])


@pytest.mark.parametrize("draw", ["greedy", "logits", "sampled", "random"])
def test_bench_draws(draw, tiny_binary):
    """Batches too: three sequences are a class of four rows."""
    result = json.loads(support.run(tiny_binary, "bench", "-p", "0", "-n", "4", "-b", "1,3,16", "-r", "1", "-t", "2",
                                    "--draw", draw, "--json").out)
    assert [(r["n_batch"], r["draw"]) for r in result] == [(1, draw), (3, draw), (16, draw)]
    assert all(r["draw_us"] > 0 for r in result)
