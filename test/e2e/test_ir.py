"""The IR at every phase boundary: it prints, and resuming from it gives the same artefact."""

import json

import pytest

import conftest
import support

PHASES = ["import", "model", "quant", "shape", "kernel", "program"]
ISA = support.VARIANTS[-1]


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    output = tmp_path_factory.mktemp("straight") / "x.ipk"
    support.ingot("compile", conftest.GOLDEN / "models/llama", "-o", output, "--emit=pack", f"--target={ISA}")
    return output.read_bytes()


@pytest.mark.parametrize("phase", PHASES)
def test_resume(phase, straight, tiny_directory, scratch):
    text, output = scratch / "ir.mlir", scratch / "x.ipk"
    support.ingot("compile", tiny_directory, "-o", text, f"--stop-after={phase}", f"--target={ISA}")
    assert text.stat().st_size > 1000
    following = (PHASES + ["target"])[PHASES.index(phase) + 1]
    support.ingot("compile", tiny_directory, "-o", output, "--emit=pack", f"--target={ISA}", f"--start-from={following}",
                  "--ir", text)
    assert output.read_bytes() == straight


def test_print_is_the_same_twice(tiny_directory):
    first, second = (support.ingot("compile", tiny_directory, "-o", "-", "--stop-after=kernel", f"--target={ISA}").out
                     for _ in range(2))
    assert first == second and "tile." in first


def test_print_after_pass(tiny_directory, scratch):
    result = support.ingot("compile", tiny_directory, "-o", scratch / "x", "--stop-after=model",
                           "--print-ir-after=llm-fuse-projections", f"--target={ISA}")
    assert "llm.linear" in result.err


def test_no_weights_in_the_text(tiny_directory):
    text = support.ingot("compile", tiny_directory, "-o", "-", "--stop-after=import").out
    assert "llm.param" in text and "dense" not in text and len(text) < 200_000


def test_faults(tiny_directory, scratch):
    (scratch / "broken.mlir").write_text("module { llm.nonsense }\n")
    cases = [(["--stop-after=nothing"], "nothing"), (["--start-from=kernel"], "--ir"),
             (["--start-from=kernel", "--ir", str(scratch / "absent.mlir")], "absent.mlir"),
             (["--start-from=kernel", "--ir", str(scratch / "broken.mlir")], "broken.mlir")]
    for arguments, word in cases:
        result = support.ingot("compile", tiny_directory, "-o", scratch / "x", *arguments, check=False)
        assert result.status in (1, 2) and word in result.err, str(result)
        assert not (scratch / "x").exists()


def test_explain(tiny_directory):
    text = support.ingot("explain", tiny_directory).out
    assert "chosen" in text and "schedule" in text
    described = json.loads(support.ingot("explain", tiny_directory, "--json").out)
    for variant in described["explain"] if isinstance(described, dict) else described:
        assert variant["kernels"] and all(k["reason"] and k["schedule"] for k in variant["kernels"])


def test_inspect(tiny):
    described = json.loads(support.ingot("inspect", tiny, "--json").out)
    assert described["arch"] == "llama" and described["layers"] == 2 and described["hidden"] == 128
    names = [t["name"] for t in described["tensors"]]
    assert "token_embd.weight" in names and len(names) == len(set(names))
    text = support.ingot("inspect", tiny).out
    assert "memory" in text and "q8_0" in text
