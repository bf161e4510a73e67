"""test/bench/quality: its measures, and its judgement where INGOT_LLAMA_BUILD names a build folder of llama.cpp."""

import json
import math
import os
import sys

import numpy
import pytest

import conftest
import support

sys.path.insert(0, str(support.ROOT / "test/bench"))

from judging import measures, report  # noqa: E402

QUALITY = support.ROOT / "test/bench/quality"
LLAMA_BUILD = os.environ.get("INGOT_LLAMA_BUILD")


def test_log_softmax():
    row = numpy.array([1, 2, 3, -1000, 5000], "f4")
    probabilities = numpy.exp(measures.log_softmax(row))
    assert probabilities.argmax() == 4 and abs(probabilities.sum() - 1) < 1e-12
    shifted = measures.log_softmax(numpy.array([0.25, 1.25], "f4"))
    assert numpy.allclose(shifted, [-math.log(1 + math.e), 1 - math.log(1 + math.e)], rtol=0, atol=1e-12)


def test_statistics():
    result = measures.statistics_of(numpy.array([1.0, 2, 3, 4]))
    assert result["mean"] == 2.5
    assert abs(result["standard_error"] - math.sqrt(5 / 3) / 2) < 1e-12
    assert measures.ratio_bound(16) == 1.5


def test_along():
    ids, positions, chosen = measures.along([7, 8, 9], [1, 2, 3], [0, 3])
    assert ids == [7, 8, 9, 1, 2] and positions == [0, 2, 3, 4] and chosen == [1, 2, 3]


def test_distance_ignores_what_all_tokens_share():
    reference = numpy.array([[0, 1, 2, 3], [3, 1, 0, 0]], "f4")
    arrays = {"top_ids": numpy.array([[3, 2], [0, 1]]), "top_logits": numpy.array([[3, 2], [3, 1]], "f4"),
              "logsumexp": numpy.log(numpy.exp(reference.astype(float)).sum(axis=1))}
    distance = measures.Distance()
    distance.add(reference + 0.5, [4, 9], [4, 9], arrays, "")
    assert abs(distance.largest() - 0.5) < 1e-6 and abs(distance.rms("logits") - 0.5) < 1e-6
    assert distance.rms("logprobs") < 1e-6


def test_distance_of_one_logit():
    """A changed logit of a token that is not among the likely ones counts through the sum over all."""
    reference = numpy.zeros((2, 3), "f4")
    arrays = {"x.top_ids": numpy.array([[0]]), "x.top_logits": numpy.array([[0]], "f4"),
              "x.logsumexp": numpy.array([math.log(3)])}
    other = reference.copy()
    other[1, 2] = math.log(4)
    distance = measures.Distance()
    distance.add(other, [4, 9], [9], arrays, "x.")
    assert distance.largest() == 0 and abs(distance.rms("logprobs") - math.log(2)) < 1e-6


def test_report():
    part = {"tokens": 64, "not_best": {"ingot": 1, "llama": 2}, "largest_below_best": {"ingot": 0.25, "llama": 0.5},
            "noise": 0.5, "ok": False, "prompts": [{"prompt": "same", "engines_part_at": None}],
            "partings": [{"prompt": "other", "at": 3, "margin": 0.25, "ingot": {"token": 1, "below_best": 0.25},
                          "llama": {"token": 2, "below_best": 0.0}}]}
    text = report.markdown({"date": "d", "machine": "m", "settings": {"chunks": 1, "kl_chunks": 1, "flash_attention": "on"},
                            "models": [{"model": "a.gguf", "llama_build": "b", "text": part}]})
    assert "| other | 3 | 0.2500 | 0.2500 | 0.0000 |" in text and "**does not hold**" in text
    assert "The same 64 tokens: same." in text


def judgement(name, scratch, *arguments):
    model = conftest.real_model(name)
    if not LLAMA_BUILD:
        pytest.skip("INGOT_LLAMA_BUILD names no build folder of llama.cpp")
    output = scratch / "quality.json"
    result = support.run("/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable, QUALITY,
                         "--models", model.file, "--references", model.reference.parent, "--build", support.BUILD,
                         "--llama-build", LLAMA_BUILD, "--work", scratch, "--json", output, *arguments, check=False,
                         timeout=1800)
    assert result.status in (0, 3), str(result)
    return result, json.loads(output.read_text())["models"][0]


@pytest.mark.parametrize("name", ["smollm2", "gemma3"])
def test_loss_and_divergence(name, scratch):
    """At most llama.cpp's loss and two paired standard errors; at most 1.05 of its KL divergence."""
    result, model = judgement(name, scratch, "--parts", "ppl,kl")
    assert result.status == 0, str(result)
    assert model["ppl"]["tokens"] == 5100 and model["kl"]["positions"] == 4 * 255
    stored = json.loads((conftest.real_model(name).reference / "ppl.json").read_text())
    assert abs(model["ppl"]["perplexity_ref"] - stored["perplexity_fp32"]) < 1e-3


@pytest.mark.parametrize("name", ["smollm2", "gemma3"])
def test_greedy_text_of_both_engines(name, scratch):
    """The texts part only where the reference's margin is within the noise."""
    result, model = judgement(name, scratch, "--parts", "distance,text")
    assert result.status == 0, str(result)
    assert model["text"]["tokens"] == 12 * 64
    for parting in model["text"]["partings"]:
        assert parting["ingot"]["token"] != parting["llama"]["token"], parting
        assert parting["margin"] <= model["text"]["noise"], parting
