"""64 mixed requests: the answers of a batch equal, byte for byte, those of the requests alone.

And those with one thread, another chunk size, another CPU variant, and a cache so small that requests are preempted.
"""

import json
import random
import re

import pytest

import conftest
import support

WORDS = ("the of and a river house seven when light under blue count first morning people number music never small "
         "garden winter answer simple large stone water paper").split()


def requests(chat, longest, tokens):
    """A fixed mixture; the seed makes it the same in every run."""
    random_ = random.Random(20260726)
    lines = []
    for i in range(64):
        words = longest if i % 16 == 5 else random_.choice([1, 2, 5, 9, 17, 33])
        text = " ".join(random_.choice(WORDS) for _ in range(min(words, longest)))
        body = {"max_tokens": random_.choice([1, 3, tokens // 2, tokens])}
        kind = i % 4
        if kind == 0:
            body["temperature"] = 0
        elif kind == 1:
            body.update(temperature=random_.choice([0.7, 1.0, 1.3]), top_p=0.95, seed=i)
        elif kind == 2:
            body.update(temperature=0.9, top_k=20, min_p=0.02, seed=1000 + i, repetition_penalty=1.1,
                        presence_penalty=0.3, frequency_penalty=0.2)
        else:
            body.update(temperature=0, stop=[" the", "\n", ","])
        if i % 5 == 0:
            body["ignore_eos"] = True
        if chat and i % 3 == 0:
            body["messages"] = [{"role": "user", "content": text}]
            if i % 6 == 0:
                body["messages"].insert(0, {"role": "system", "content": "Be brief."})
                body.update(logprobs=True, top_logprobs=3)
            url = "/v1/chat/completions"
        else:
            body["prompt"] = text
            if i % 7 == 0:
                body["logprobs"] = 2
            url = "/v1/completions"
        if i % 11 == 0:
            body["logit_bias"] = {"5": 2.5, "100": -100}
        lines.append(json.dumps({"custom_id": f"r{i}", "method": "POST", "url": url, "body": body}))
    return "\n".join(lines) + "\n"


def answer(path, file, output, *arguments):
    result = support.ingot("batch", path, file, "-o", output, *arguments)
    preemptions = int(re.search(r"(\d+) preemptions", result.err).group(1))
    return output.read_bytes(), preemptions


def compare(path, file, scratch, small):
    base, preempted = answer(path, file, scratch / "base")
    answers = [json.loads(line) for line in base.decode().split("\n") if line]
    assert len(answers) == 64 and preempted == 0
    assert [a["custom_id"] for a in answers] == [f"r{i}" for i in range(64)]
    assert all(a["response"]["status_code"] == 200 for a in answers), answers
    reasons = {a["response"]["body"]["choices"][0]["finish_reason"] for a in answers}
    assert reasons == {"stop", "length"}
    ways = [["--max-seqs", "1"], ["-t", "1", "--max-seqs", "5"], ["--chunk", "7"], ["-t", "3", "--chunk", "100"]]
    ways += [[f"--isa={isa}"] for isa in support.VARIANTS[:-1]]
    for way in ways:
        assert answer(path, file, scratch / "other", *way)[0] == base, way
    other, preempted = answer(path, file, scratch / "other", "--kv-pages", str(small))
    assert other == base and preempted >= 5, preempted


def test_tiny(tiny_pack, scratch):
    file = scratch / "requests.jsonl"
    file.write_text(requests(chat=True, longest=40, tokens=24))
    compare(tiny_pack, file, scratch, 17)


def test_tiny_with_an_int8_cache(tiny_pack, scratch):
    pack = scratch / "int8.ipk"
    support.ingot("compile", conftest.GOLDEN / "models/llama", "-o", pack, "--emit=pack", "--kv=int8",
                  f"--target={','.join(support.VARIANTS)}")
    # 3 layers of 2 heads of 16 values: 16 tokens of K and V, and in int8 their scales.
    pages = [json.loads(support.ingot("inspect", path, "--json").out)["plan"]["kv_page_bytes"]
             for path in (tiny_pack, pack)]
    assert pages == [3 * 2 * 16 * 32 * 2, 3 * 2 * 16 * (32 + 2 * 4)]
    file = scratch / "requests.jsonl"
    file.write_text(requests(chat=True, longest=40, tokens=24))
    compare(pack, file, scratch, 17)


def test_smollm2(smollm2, scratch):
    file = scratch / "requests.jsonl"
    file.write_text(requests(chat=True, longest=130, tokens=18))
    compare(smollm2.compiled()[0], file, scratch, 14)


def test_each_alone(tiny_binary, scratch):
    """The same through `run`, one process a request."""
    random_ = random.Random(5)
    bodies = [{"prompt": " ".join(random_.choice(WORDS) for _ in range(3 + i)), "max_tokens": 9, "temperature": 0.8,
               "seed": i, "top_k": 30} for i in range(6)]
    file = scratch / "requests.jsonl"
    file.write_text("".join(json.dumps({"custom_id": str(i), "method": "POST", "url": "/v1/completions", "body": b})
                            + "\n" for i, b in enumerate(bodies)))
    data, _ = answer(tiny_binary, file, scratch / "out")
    for body, line in zip(bodies, data.decode().strip().split("\n")):
        alone = support.run(tiny_binary, "run", "-p", body["prompt"], "-n", "9", "--temp", "0.8", "-s", body["seed"],
                            "--top-k", "30", "--json")
        assert json.loads(alone.out)["text"] == json.loads(line)["response"]["body"]["choices"][0]["text"]


BAD = [
    ("not json", "JSON"), ("[]", "object"), ('{"custom_id":"x","url":"/v1/other","body":{}}', "url"),
    ('{"custom_id":"x","url":"/v1/completions"}', "body"),
    ('{"custom_id":"x","url":"/v1/completions","body":{}}', "prompt"),
    ('{"custom_id":"x","url":"/v1/completions","body":{"prompt":"a","temperature":"hot"}}', "temperature"),
    ('{"custom_id":"x","url":"/v1/completions","body":{"prompt":"a","temperature":-1}}', "temperature"),
    ('{"custom_id":"x","url":"/v1/completions","body":{"prompt":"a","top_p":7}}', "top_p"),
    ('{"custom_id":"x","url":"/v1/completions","body":{"prompt":[99999999]}}', "vocabulary"),
    ('{"custom_id":"x","url":"/v1/completions","body":{"prompt":"a","n":2}}', "'n'"),
    ('{"custom_id":"x","url":"/v1/completions","body":{"prompt":"a","logit_bias":{"x":1}}}', "logit_bias"),
    ('{"custom_id":"x","url":"/v1/chat/completions","body":{"messages":[]}}', "messages"),
    ('{"custom_id":"x","url":"/v1/chat/completions","body":{"messages":"hi"}}', "messages"),
    ('{"custom_id":"x","url":"/v1/completions","body":{"prompt":"' + "word " * 2000 + '"}}', "context"),
]


def test_bad_requests_disturb_no_other(tiny_binary, scratch):
    good = json.dumps({"custom_id": "good", "method": "POST", "url": "/v1/completions",
                       "body": {"prompt": "abc", "max_tokens": 5, "temperature": 0}})
    (scratch / "one").write_text(good + "\n")
    alone = json.loads(answer(tiny_binary, scratch / "one", scratch / "out")[0])
    (scratch / "many").write_text("".join(f"{line}\n{good}\n" for line, _ in BAD))
    lines = [json.loads(line) for line in answer(tiny_binary, scratch / "many", scratch / "out")[0].decode().split("\n")
             if line]
    assert len(lines) == 2 * len(BAD)
    for (_, word), bad, fine in zip(BAD, lines[::2], lines[1::2]):
        error = bad["response"]["body"]["error"]
        assert bad["response"]["status_code"] == 400 and word in error["message"], (word, bad)
        assert fine["response"]["body"]["choices"] == alone["response"]["body"]["choices"]
