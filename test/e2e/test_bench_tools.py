"""test/bench/synth writes files of every mix that the compiler reads as the format they claim."""

import json
import sys

import pytest

import support

MIXES = {"f16": {"f32", "f16"}, "bf16": {"f32", "bf16"}, "q8_0": {"f32", "q8_0"}, "q5_1": {"f32", "q5_1", "q8_0"},
         "q5_k_m": {"f32", "q5_1", "q8_0", "q6_k"}}


def synth(path, *arguments):
    return support.run(sys.executable, support.ROOT / "test/bench/synth", *arguments, path)


@pytest.mark.parametrize("mix", sorted(MIXES))
def test_formats(mix, tmp_path):
    path = tmp_path / "model.gguf"
    synth(path, "--layers", "1", "smollm2-135m", mix)
    described = json.loads(support.ingot("inspect", path, "--json", "-q").out)
    assert {tensor["scheme"] for tensor in described["tensors"]} == MIXES[mix]
    assert described["layers"] == 1 and described["vocab"] == 49152


def test_mixed_file_runs_and_is_reproducible(tmp_path):
    path, again = tmp_path / "model.gguf", tmp_path / "again.gguf"
    synth(path, "--layers", "1", "smollm2-135m", "q4_k_m")
    synth(again, "--layers", "1", "smollm2-135m", "q4_k_m")
    assert path.read_bytes() == again.read_bytes()
    done = support.ingot("run", path, "-p", "hello", "-n", "4", "--temp", "0", "--json", "-q")
    answer = json.loads(done.out)
    assert len(answer["tokens"]) == 4
