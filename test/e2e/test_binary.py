"""The standalone binary: what it needs, that it is reproducible, what its code weighs, and that it runs alone."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

import conftest
import support

ALLOWED = {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "linux-vdso.so.1", "ld-linux-x86-64.so.2"}


def test_ask(smollm2, scratch):
    """A question is completed within the rendered chat template."""
    binary, _ = smollm2.compiled()
    question = "Name three colours."
    asked = support.run(binary, question, "-n", "12", "--temp", "0")
    support.write_json(scratch / "m.json", [{"role": "user", "content": question}])
    (scratch / "text").write_text(support.run(binary, "template", scratch / "m.json").out)
    alone = support.run(binary, "run", "-f", scratch / "text", "--special", "-n", "12", "--temp", "0")
    assert asked.out == alone.out and asked.out.strip()


def test_only_the_answer_on_standard_output(smollm2):
    binary, _ = smollm2.compiled()
    loud = support.run(binary, "run", "-p", "One, two, three,", "-n", "8", "--temp", "0")
    quiet = support.run(binary, "run", "-p", "One, two, three,", "-n", "8", "--temp", "0", "-q")
    assert loud.out == quiet.out and not quiet.err and "tokens" in loud.err


def test_libraries(smollm2):
    result = support.run("ldd", smollm2.compiled()[0])
    names = {line.split()[0].split("/")[-1] for line in result.out.split("\n") if line.strip()}
    assert names <= ALLOWED, names


def test_object_code_size(smollm2, scratch):
    isa = support.VARIANTS[-1]
    support.ingot("compile", smollm2.file, "-o", scratch / "o", "--emit=obj", f"--target={isa}")
    size = (scratch / "o").stat().st_size
    assert 10_000 < size < 1_000_000
    described = json.loads(support.run(smollm2.compiled()[0], "info", "--json").out)
    sizes = {variant["isa"]: variant["object_bytes"] for variant in described["explain"]}
    assert sizes[isa] == size and all(10_000 < s < 1_000_000 for s in sizes.values())


@pytest.mark.skipif(support.SANITIZED, reason="sanitizers put paths into their descriptions")
def test_reproducible(scratch, tiny_directory, tiny_binary):
    """The same bytes again, from another working directory and from a copy of the model elsewhere."""
    target = f"--target={','.join(support.VARIANTS)}"
    copy = scratch / "elsewhere" / tiny_directory.name
    shutil.copytree(tiny_directory, copy)
    os.chmod(copy, 0o755)
    support.run(support.INGOT, "compile", copy, "-o", "again", target, cwd=scratch)
    first = tiny_binary.read_bytes()
    assert first == (scratch / "again").read_bytes()
    for path in (str(scratch), str(support.ROOT), str(conftest.GOLDEN)):
        assert path.encode() not in first


def test_moved_and_alone(scratch, tiny_binary):
    """Elsewhere, in an empty environment and without ingot, it runs."""
    moved = scratch / "moved"
    shutil.copy(tiny_binary, moved)
    result = support.run("./moved", "run", "-p", "hello", "-n", "8", "--temp", "0", "--ignore-eos", "--json", cwd=scratch,
                         env={})
    assert len(json.loads(result.out)["tokens"]) == 8
    assert sorted(p.name for p in scratch.iterdir()) == ["moved"]


def test_symbols(tiny_binary):
    """Nothing of LLVM, MLIR or a tensor library is in it."""
    data = tiny_binary.read_bytes()
    for word in (b"mlir::", b"N4llvm", b"N4mlir", b"libLLVM", b"cblas"):
        assert word not in data, word


def test_info(smollm2):
    binary, _ = smollm2.compiled()
    text = support.run(binary, "info").out
    assert re.search(r"architecture +llama", text) and "memory" in text
    described = json.loads(support.run(binary, "info", "--json").out)
    assert [v["isa"] for v in described["explain"]] == support.VARIANTS
    assert described["layers"] == 30 and described["plan"]["weight_bytes"] > 90e6
    for variant in described["explain"]:
        assert 0 < variant["object_bytes"] < 1_000_000
    via = json.loads(support.ingot("inspect", binary, "--json").out)
    assert via == described


def test_bench(smollm2):
    binary, _ = smollm2.compiled()
    results = json.loads(support.run(binary, "bench", "-p", "32", "-n", "4", "-b", "1,2", "-r", "2", "-t", "1,2",
                                     "--json").out)
    assert len(results) == 6 and all(r["median_ts"] > 0 and len(r["samples_ts"]) == 2 for r in results)


def test_bench_mixed_steps(smollm2):
    binary, _ = smollm2.compiled()
    shared = ["-p", "0", "-n", "0", "-d", "0,40", "-r", "2", "-t", "2"]
    results = json.loads(support.run(binary, "bench", *shared, "--mix", "16,100", "-b", "1,3", "--json").out)
    assert [r["test"] for r in results] == ["mix16+1", "mix16+3", "mix100+1", "mix100+3", "mix16+1 @ d40",
                                            "mix16+3 @ d40", "mix100+1 @ d40", "mix100+3 @ d40"]
    for r in results:
        assert min(r["mixed_ms"], r["prompt_ms"], r["generate_ms"]) > 0 and len(r["samples_ts"]) == 2
        # Both kinds of step have the same rows: their rate is that of the medians, up to the two repetitions.
        assert r["min_ts"] * 0.99 <= 1000 * (r["n_prompt"] + r["n_batch"]) / r["mixed_ms"] <= r["max_ts"] * 1.01
    text = support.run(binary, "bench", *shared, "--mix", "16").out
    assert "mix16+1 (step " in text and "parts " in text
    refused = support.run(binary, "bench", *shared, "--mix", "512", check=False)
    assert refused.status == 1 and "mix512+1" in refused.err and "512" in refused.err


def test_verify_by_itself(tiny_binary, tiny_directory):
    support.run(tiny_binary, "verify", "--reference", tiny_directory)
    refused = support.run(tiny_binary, "verify", "--reference", tiny_directory, "--kernels=ref", check=False)
    assert refused.status == 1 and "model file" in refused.err


def test_forced_variants(tiny_binary):
    answers = {support.run(tiny_binary, "run", "-p", "abc", "-n", "16", "--temp", "0.9", "-s", "7", "-q",
                           f"--isa={isa}").out for isa in support.VARIANTS}
    assert len(answers) == 1
    unknown = support.run(tiny_binary, "run", "-p", "abc", "--isa=sse9", check=False)
    assert unknown.status == 1 and "sse9" in unknown.err


def test_variant_that_no_machine_here_has(scratch, tiny_directory):
    """A binary for another CPU says so; there is no illegal instruction."""
    missing = [v for v in ("avx2", "avx512", "vnni", "amx") if v not in support.VARIANTS]
    if not missing:
        pytest.skip("this machine runs every variant")
    output = scratch / "other"
    support.ingot("compile", tiny_directory, "-o", output, f"--target={missing[0]}")
    result = support.run(output, "run", "-p", "abc", check=False)
    assert result.status == 1 and missing[0] in result.err


def test_pack_model_and_binary_answer_alike(tiny_binary, tiny_pack, tiny_directory):
    arguments = ["-p", "some words", "-n", "20", "--temp", "0.8", "-s", "11", "--ignore-eos", "--json"]
    answers = []
    for path in (tiny_binary, tiny_pack, tiny_directory):
        answer = json.loads(support.ingot("run", path, *arguments).out)
        answers.append((answer["tokens"], answer["text"]))
    assert answers[0] == answers[1] == answers[2] and len(answers[0][0]) == 20


def test_object_bytes_are_those_of_the_pack(scratch, tiny_directory, tiny_pack):
    """What the JIT runs from a pack is what --emit=obj writes."""
    isa = support.VARIANTS[-1]
    support.ingot("compile", tiny_directory, "-o", scratch / "o", "--emit=obj", f"--target={isa}")
    assert (scratch / "o").read_bytes() in tiny_pack.read_bytes()


def test_damaged_binary(scratch, tiny_binary, tiny_pack):
    """A flipped byte of the pack, or a cut end, is an error and not a wrong answer."""
    for source, arguments in ((tiny_pack, None), (tiny_binary, ["run", "-p", "x", "-n", "1"])):
        good = source.read_bytes()
        for name, data in (("cut", good[:-5000]), ("flipped", good[:-3000] + bytes([good[-3000] ^ 0xFF]) + good[-2999:])):
            path = scratch / f"{source.name}.{name}"
            path.write_bytes(data)
            os.chmod(path, 0o755)
            if arguments:
                result = support.run(path, *arguments, check=False)
            else:
                result = support.ingot("run", path, "-p", "x", "-n", "1", check=False)
            if name == "cut":
                assert result.status == 1 and result.err, str(result)
            else:
                assert 0 <= result.status <= 125, str(result)


@pytest.mark.skipif(support.SANITIZED, reason="sanitizers take time and memory")
def test_compile_time_and_memory(smollm2):
    """Within what is promised, doubled for a busy machine."""
    output = conftest.SCRATCH / "timed"
    begin = time.monotonic()
    process = subprocess.Popen([support.INGOT, "compile", smollm2.file, "-o", output, "-q"])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0 and time.monotonic() - begin < 60
    assert usage.ru_maxrss * 1024 < 600e6, usage.ru_maxrss
    assert usage.ru_utime + usage.ru_stime < 20, usage


def test_memory_plan(smollm2, scratch):
    """Peak memory is what `info` plans, within 5 % and 16 MB."""
    binary, _ = smollm2.compiled()
    described = json.loads(support.run(binary, "info", "--json").out)
    plan, positions, threads = described["plan"], 2048, 2
    text = scratch / "long.txt"
    text.write_text(" one" * (positions - 16))
    command = [str(binary), "run", "-f", str(text), "-n", "8", "--temp", "0", "--ignore-eos", "-q", "-t", str(threads),
               "--json"]
    with open(scratch / "out", "w") as out:
        process = subprocess.Popen(command, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    used = json.loads((scratch / "out").read_text())["prompt_tokens"] + 8
    assert used > positions - 64
    planned = (plan["weight_bytes"] + plan["kv_token_bytes"] * used + plan["arena_bytes"] + plan["tokenizer_bytes"]
               + threads * (plan["private_bytes"] + plan["scratch_bytes"]))
    assert abs(usage.ru_maxrss * 1024 - planned) <= 0.05 * planned + 16e6, (usage.ru_maxrss * 1024, planned)


def test_interrupt(smollm2):
    """SIGINT ends a completion with status 130, after what was written."""
    binary, _ = smollm2.compiled()
    process = subprocess.Popen([str(binary), "run", "-p", "Once upon a time", "-n", "2000", "--temp", "0",
                                "--ignore-eos"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.read(1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
