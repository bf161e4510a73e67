"""--numerics=fast: named in the artefact, off by default, within the references' bounds, its loss printed.

Where the machine has no dots of bf16 pairs, what can be said without running them is tested.
"""

import json

import pytest

import support
import test_batch

HAS_DOTS = "avx512_bf16" in support.cpu_flags() and "vnni" in support.host_variants()
needs_dots = pytest.mark.skipif(not HAS_DOTS, reason="this machine has no AVX512-BF16")


@pytest.fixture
def model(golden):
    return golden / "models/gemma3_text"  # its weights are bf16


def dots(description):
    return {v["isa"]: {k["dot"] for k in v["kernels"] if k["family"] == "linear"} for v in description["explain"]}


def test_off_by_default_and_named(model, scratch):
    exact = json.loads(support.ingot("inspect", model, "--json", "--target=all").out)
    assert exact["numerics"] == "exact" and "numerics=exact" in exact["build"]
    assert set().union(*dots(exact).values()) == {"f32"} and not {"avx512bf16", "amxbf16"} & set(exact["isas"])

    fast = json.loads(support.ingot("inspect", model, "--json", "--target=all", "--numerics=fast").out)
    assert {"avx512bf16", "amxbf16"} < set(fast["isas"])
    assert fast["numerics"] == "fast" and "numerics=fast" in fast["build"]
    assert all(kinds == {"bf16" if isa.endswith("bf16") else "f32"} for isa, kinds in dots(fast).items())

    binary = scratch / "model"
    support.ingot("compile", model, "-o", binary, "--target=avx2,avx512bf16", "--numerics=fast")
    assert "fast" in support.run(binary, "info").out
    refused = support.run(binary, "run", "-p", "a", "--numerics=exact", check=False)
    assert refused.status == 2 and "--numerics" in refused.err
    refused = support.ingot("run", binary, "-p", "a", "--numerics=exact", check=False)
    assert refused.status != 0 and "--numerics" in refused.err


def test_goes_on_from_text(model, scratch):
    text, resumed, whole = scratch / "quant.mlir", scratch / "resumed.ipk", scratch / "whole.ipk"
    fast = ["--numerics=fast", "--target=avx512bf16"]
    support.ingot("compile", model, "-o", text, "--stop-after=quant", *fast)
    support.ingot("compile", model, "-o", resumed, "--emit=pack", "--start-from=shape", "--ir", text, *fast)
    support.ingot("compile", model, "-o", whole, "--emit=pack", *fast)
    assert resumed.read_bytes() == whole.read_bytes()


def test_refusals(model, scratch):
    wrong = support.ingot("compile", model, "-o", scratch / "x", "--numerics=loose", check=False)
    assert wrong.status == 2 and "--numerics" in wrong.err and not (scratch / "x").exists()
    oracle = support.ingot("run", model, "-p", "a", "--numerics=fast", "--kernels=ref", check=False)
    assert oracle.status != 0 and "the reference is exact" in oracle.err


@needs_dots
def test_within_the_references_bounds(model):
    result = support.ingot("verify", model, "--reference", model, "--numerics=fast", "--isa=avx512bf16")
    assert "mean KL divergence" in result.out  # the exit status was that of bounds that hold


@needs_dots
def test_loss_is_printed(model, scratch):
    text = scratch / "text"
    text.write_text(" ".join(test_batch.WORDS * 12))
    command = ["eval", model, "--perplexity", text, "--ctx", "32", "--json"]
    fast = json.loads(support.ingot(*command, "--numerics=fast", "--isa=avx512bf16").out)
    exact = json.loads(support.ingot(*command).out)
    assert "fast" not in exact
    assert fast["fast"]["exact_perplexity"] == pytest.approx(exact["perplexity"], rel=1e-12)
    assert fast["perplexity"] != exact["perplexity"] and abs(fast["fast"]["loss"]) < 0.01
    assert fast["fast"]["loss_standard_error"] > 0
    assert "loses" in support.ingot(*command[:-1], "--numerics=fast", "--isa=avx512bf16").out


@needs_dots
def test_answers_do_not_depend_on_the_batch(model, scratch):
    """On one variant a row's bits still depend on its own tokens alone."""
    pack, file = scratch / "model.ipk", scratch / "requests.jsonl"
    support.ingot("compile", model, "-o", pack, "--emit=pack", "--numerics=fast", "--target=avx512bf16")
    file.write_text(test_batch.requests(chat=False, longest=40, tokens=16))
    base, _ = test_batch.answer(pack, file, scratch / "base")
    for way in (["--max-seqs", "1"], ["-t", "1", "--chunk", "7"], ["-t", "3", "--chunk", "100"]):
        assert test_batch.answer(pack, file, scratch / "other", *way)[0] == base, way
