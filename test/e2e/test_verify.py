"""Every reference model of our families and types, with the oracle and on each variant of this machine."""

import json
import pathlib
import re

import numpy
import pytest

import conftest
import support

KERNELS = ["ref"] + support.VARIANTS


def files():
    for path in sorted((conftest.GOLDEN / "gguf").glob("*.golden.json")):
        golden = json.loads(path.read_text())
        used = {kind for kind in golden.get("tensor_types", {})}
        if path.name.startswith("phi3") or not used <= support.TYPES:
            continue
        yield path.name[: -len(".golden.json")]


def directories():
    for path in sorted((conftest.GOLDEN / "models").glob("*/config.json")):
        config = json.loads(path.read_text())
        if config.get("model_type") in support.FAMILIES and "quantization_config" not in config:
            for name in sorted(p.name for p in path.parent.glob("config*.json")):
                yield f"{path.parent.name}:{name}"


def pack_of(model):
    """One pack holds all variants; made in the background."""
    path, arguments = location(model)
    output = conftest.SCRATCH / (model.replace(":", "-") + ".ipk")
    support.ingot("compile", path, "-o", output, "--emit=pack", f"--target={','.join(support.VARIANTS)}", *arguments)
    return output


def location(model):
    if ":" in model:
        folder, config = model.split(":")
        path = conftest.GOLDEN / "models" / folder
        return path, ["--config", config]
    return conftest.GOLDEN / "gguf" / f"{model}.gguf", []


def reference(model):
    path, _ = location(model)
    return path if path.is_dir() else path.with_suffix("")


def verify(model, kernels):
    if kernels == "ref":
        path, arguments = location(model)
        arguments = [*arguments, "--kernels=ref"]
    else:
        path, arguments = support.JOBS.futures["pack", model].result(), [f"--isa={kernels}"]
    return support.ingot("verify", path, "--reference", reference(model), "-t", "1", *arguments, check=False)


def start(model, kernels):
    if kernels != "ref":
        support.JOBS.add(("pack", model), pack_of, model)
    support.JOBS.add(("verify", model, kernels), verify, model, kernels)


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("model", [*files(), *directories()])
def test_reference(model, kernels):
    result = support.JOBS.futures["verify", model, kernels].result()
    assert result.status == 0, str(result)


test_reference.background = start


def test_there_are_models():
    assert len(list(files())) >= (18 if support.full() else 4)
    assert len({name.split(":")[0] for name in directories()}) >= (11 if support.full() else 2)


def test_a_wrong_reference_fails(golden, scratch):
    """The bounds are judged: other tokens in the reference are reported, with status 3."""
    prefix = golden / "gguf/llama-mini.Q8_0"
    reference = json.loads(pathlib.Path(f"{prefix}.golden.json").read_text())
    clear = max(range(48), key=lambda i: reference["prompt_a"]["margin"][i])
    reference["prompt_a"]["greedy"][clear] ^= 1
    support.write_json(scratch / "other.golden.json", reference)
    data = pathlib.Path(f"{prefix}.golden.safetensors").read_bytes()
    (scratch / "other.golden.safetensors").write_bytes(data)
    result = support.ingot("verify", f"{prefix}.gguf", "--reference", scratch / "other", check=False)
    assert result.status == 3, str(result)
    assert "greedy" in result.out + result.err


def test_a_wrong_layer_is_named(golden, scratch):
    """An altered hidden state of the reference is blamed on that layer, the first that differs."""
    prefix = golden / "gguf/llama-mini.Q8_0"
    (scratch / "other.golden.json").write_bytes(pathlib.Path(f"{prefix}.golden.json").read_bytes())
    data = bytearray(pathlib.Path(f"{prefix}.golden.safetensors").read_bytes())
    size = int.from_bytes(data[:8], "little")
    begin, end = json.loads(data[8:8 + size])["hidden.layer.0"]["data_offsets"]
    values = numpy.frombuffer(bytes(data[8 + size + begin:8 + size + end]), "<f4") + numpy.float32(1)
    data[8 + size + begin:8 + size + end] = values.astype("<f4").tobytes()
    (scratch / "other.golden.safetensors").write_bytes(data)
    result = support.ingot("verify", f"{prefix}.gguf", "--reference", scratch / "other", "--kernels=ref", check=False)
    assert result.status == 3, str(result)
    assert "hidden.layer.0" in result.out + result.err, str(result)


def dump(path, ids, output, *arguments):
    support.ingot("verify", path, "--ids", ids, "--dump", output, *arguments)
    return pathlib.Path(output).read_bytes()


def test_wrappings_of_one_model(golden, scratch):
    """variants.json: other versions, alignments, orders and splits of one model give the same bits."""
    if not support.full():
        pytest.skip("needs the full references")
    ids = support.write_json(scratch / "ids.json", [1, 5, 100, 7, 300, 2, 45])
    expected = dump(golden / "gguf/llama-mini.Q8_0.gguf", ids, scratch / "good.safetensors", "--hidden")
    variants = json.loads((golden / "gguf/variants.json").read_text())["variants"]
    assert len(variants) == 10
    for name, variant in variants.items():
        actual = dump(golden / "gguf" / variant["files"][0], ids, scratch / f"{name}.safetensors", "--hidden")
        assert actual == expected, name


def test_dump_rows(golden, scratch, tiny):
    """Rows come in the order asked for, and a row does not depend on which others are asked for."""
    ids = support.write_json(scratch / "ids.json", list(range(3, 40)))
    dump(tiny, ids, scratch / "all.safetensors", "--hidden")
    dump(tiny, ids, scratch / "some.safetensors", "--positions", "36,0,17", "--hidden")
    every, some = (support.read_safetensors(scratch / f"{n}.safetensors") for n in ("all", "some"))
    assert every["logits"].shape[0] == 37 and some["logits"].shape[0] == 3
    assert set(every) == set(some) and {"logits", "hidden.embed", "hidden.layer.0", "hidden.norm"} <= set(every)
    for name in every:
        assert every[name][[36, 0, 17]].tobytes() == some[name].tobytes(), name


def test_greedy(golden, scratch, tiny_pack):
    """The engine's greedy tokens are the likeliest of the dumped logits, for ids as they are."""
    ids = [1, 5, 100, 7]
    for arguments in [["-t", "1"], [f"--isa={support.VARIANTS[0]}"]]:
        result = support.ingot("verify", tiny_pack, "--ids", support.write_json(scratch / "ids.json", ids), "--greedy", "20",
                               "-q", *arguments)
        tokens = json.loads(result.out)
        assert len(tokens) == 20
        dump(tiny_pack, support.write_json(scratch / "all.json", ids + tokens[:-1]), scratch / "d.safetensors", *arguments)
        logits = support.read_safetensors(scratch / "d.safetensors")["logits"]
        assert logits[len(ids) - 1:].argmax(axis=1).tolist() == tokens
    result = support.ingot("verify", tiny_pack, "--greedy", "3", check=False)
    assert result.status == 2 and "--ids" in result.err, str(result)
    result = support.ingot("verify", tiny_pack, "--ids", scratch / "ids.json", "--greedy", "1000000", check=False)
    assert result.status == 1 and "context" in result.err, str(result)


def test_dump_faults(golden, scratch, tiny):
    ids = support.write_json(scratch / "ids.json", [1, 2, 3])
    for text in ("3", "x", "-1", "1,,2"):
        result = support.ingot("verify", tiny, "--ids", ids, "--dump", scratch / "d", "--positions", text, check=False)
        assert result.status == 1 and "--positions" in result.err, str(result)
    for bad in ("{}", "[]", "[1, \"a\"]", "[999999999]", "[-1]", "not json"):
        (scratch / "bad.json").write_text(bad)
        result = support.ingot("verify", tiny, "--ids", scratch / "bad.json", "--dump", scratch / "d", check=False)
        assert result.status == 1 and re.search("bad.json|id", result.err), str(result)
        assert not (scratch / "d").exists()


def test_kv_types(golden, tiny_directory):
    """f32 and bf16 caches compute the same model."""
    for kv in ("f32", "bf16"):
        support.ingot("verify", tiny_directory, "--reference", tiny_directory, f"--kv={kv}")


def test_variants_agree_bit_for_bit(golden, scratch, tiny_pack):
    """The row contract: the variant, the number of threads and the chunk size change no bit of a logit."""
    ids = support.write_json(scratch / "ids.json", [(7 * i + 3) % 500 for i in range(150)])
    first = None
    for isa in support.VARIANTS:
        for arguments in (["-t", "1"], ["-t", "2", "--chunk", "7"], ["-t", "3", "--chunk", "64"]):
            actual = dump(tiny_pack, ids, scratch / "dump", f"--isa={isa}", *arguments)
            first = first or actual
            assert actual == first, (isa, arguments)
