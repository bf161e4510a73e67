"""The two real models against the references of golden/real, and their answers.

All 20 chunks of the perplexity, which take longer than is good for every run:
    build/release/bin/ingot eval build/models/smollm2.gguf --perplexity wikitext2_raw_test.txt --ctx 512 --chunks 20
"""

import json
import lzma
import math

import pytest

import conftest
import support

# Perplexity of llama.cpp over that of the reference, both over all chunks (golden/real/README.md), and twice the
# paired standard error of the loss over four chunks: 0.11 % over 5,100 tokens is 0.25 % over 1,020.
LLAMA_CPP = {"smollm2": 27.9379 / 27.8074, "gemma3": 17.7988 / 17.7517}
PAIRED = 2 * 0.0011 * math.sqrt(5)
CHUNKS = 4
NOISE = "greedy tokens are clear above a margin of"


def text_file():
    path = conftest.SCRATCH / "text.txt"
    if not path.exists():
        whole = support.SHARED / "text/wikitext2_raw_test.txt.xz"
        data = lzma.open(whole if whole.exists() else support.COMPACT / "real/wikitext_start.txt.xz").read()
        # The first chunks depend on nothing that lies further on.
        path.write_bytes(data[:24000].decode("utf-8", "ignore").encode())
    return path


def verify(name, kernels):
    model = conftest.real_model(name)
    path = model.file if kernels == "ref" else model.compiled()[0]
    return support.ingot("verify", path, "--reference", model.reference, "--json",
                         *(["--kernels=ref"] if kernels == "ref" else []), check=False, timeout=600)


def perplexity(name, kernels):
    model = conftest.real_model(name)
    path = model.compiled()[0] if kernels == "native" else model.file
    options = {"native": [], "ref": ["--kernels=ref"], "int8": ["--kv=int8"]}[kernels]
    return support.ingot("eval", path, "--perplexity", text_file(), "--ctx", "512", "--chunks", CHUNKS, "--json", "-q",
                         *options, check=False, timeout=600)


@pytest.mark.parametrize("kernels", ["native", "ref"])
@pytest.mark.parametrize("name", ["smollm2", "gemma3"])
def test_reference(name, kernels):
    """Hidden states of each layer, logits and greedy tokens of 12 prompts, and the prompt of 3,000 tokens."""
    result = verify(name, kernels)
    assert result.status == 0, str(result)


@pytest.mark.parametrize("kernels", ["native", "ref", "int8"])
@pytest.mark.parametrize("name", ["smollm2", "gemma3"])
def test_perplexity(name, kernels):
    """int8: native kernels whose cache is in int8, within the bound of those with f16."""
    result = perplexity(name, kernels)
    assert result.status == 0, str(result)
    measured = json.loads(result.out)
    assert measured["chunks"] == CHUNKS and measured["tokens"] == CHUNKS * 255
    running = json.loads((conftest.real_model(name).reference / "ppl.json").read_text())["running"]
    if kernels == "ref":
        for actual, expected in zip(measured["running"], running):
            assert f"{actual:.4g}" == f"{expected:.4g}" and abs(actual / expected - 1) < 1e-4
    else:
        assert math.log(measured["perplexity"] / running[CHUNKS - 1]) <= math.log(LLAMA_CPP[name]) + PAIRED


def test_choices(real):
    reference = json.loads((real.reference / "mc.json").read_text())
    result = support.ingot("eval", real.compiled()[0], "--choices", real.reference / "mc.json", "--json", "-q")
    measured = json.loads(result.out)
    assert measured["items"] == len(reference["items"])
    expected = sum(item["chosen"] == item["answer"] for item in reference["items"])
    assert abs(measured["correct"] - expected) <= 1
    # Items with a clear winner keep it.
    for item, one in zip(reference["items"], measured["results"]):
        assert one["chosen"] == item["chosen"] or item["margin"] < 0.5, item


def prompts(real, kind):
    return [p for p in json.loads((real.reference / "prompts.json").read_text())["prompts"] if p["kind"] == kind]


def test_tokens_of_prompts(real, scratch):
    for prompt in json.loads((real.reference / "prompts.json").read_text())["prompts"]:
        (scratch / "text").write_text(prompt["text"], newline="")
        result = support.ingot("tokenize", real.compiled()[0], "-f", scratch / "text", "--special")
        assert json.loads(result.out) == prompt["ids"], prompt["name"]


def test_detokenize(real):
    for prompt in prompts(real, "raw"):
        result = support.ingot("detokenize", real.compiled()[0], "-f", "-", input=json.dumps(prompt["ids"]))
        text = result.out[:-1]
        assert text == prompt["text"] or text == " " + prompt["text"], prompt["name"]


def test_template(smollm2, scratch):
    for prompt in prompts(smollm2, "chat"):
        messages = support.write_json(scratch / "messages.json", prompt["messages"])
        assert support.ingot("template", smollm2.compiled()[0], messages).out == prompt["text"]
        assert support.ingot("template", smollm2.file, messages).out == prompt["text"]


def noise(real):
    """The margin above which `verify` lets no greedy token differ."""
    checks = json.loads(verify(real.name, "native").out)["checks"]
    return next(check["value"] for check in checks if check["name"] == NOISE)


def agreement(tokens, prompt, noise):
    """Tokens equal the reference up to the first position whose margin is within the noise."""
    for i, (actual, expected) in enumerate(zip(tokens, prompt["greedy"])):
        if actual != expected:
            assert prompt["greedy_margin"][i] <= noise, (prompt["name"], i, actual, expected)
            return


def test_greedy_text(real):
    """What `run` answers is the greedy continuation, but for small margins."""
    limit = noise(real)
    assert 0 < limit < 0.5
    for prompt in prompts(real, "raw")[:3]:
        result = support.ingot("run", real.compiled()[0], "-p", prompt["text"], "-n", "24", "--temp", "0", "--json",
                               "--ignore-eos", "--special")
        answer = json.loads(result.out)
        assert len(answer["tokens"]) == 24 and answer["prompt_tokens"] == len(prompt["ids"])
        agreement(answer["tokens"], prompt, limit)


def test_binary_and_model_agree(smollm2):
    arguments = ["-p", "The capital of France is", "-n", "12", "--temp", "0", "--json", "-q"]
    answers = [json.loads(support.ingot("run", path, *arguments).out)
               for path in (smollm2.file, smollm2.compiled()[0])]
    assert answers[0]["tokens"] == answers[1]["tokens"] and "Paris" in answers[0]["text"]


def test_no_template_is_told(scratch):
    gemma = conftest.real_model("gemma3")
    binary = gemma.compiled()[0]
    asked = support.run(binary, "The capital of France is", "-n", "6", "--temp", "0")
    assert "no chat template" in asked.err and asked.out.strip()
    chat = support.run(binary, "chat", input="hello\n", check=False)
    assert chat.status == 1 and "--chat-template" in chat.err
