"""Malformed models: each case is refused clearly, or works as the good model does.

The limits are those of golden/bad/README.md: 10 s of processor time and 1 GiB of memory.
"""

import functools
import json
import os
import pathlib
import resource
import subprocess

import pytest

import conftest
import support


def build_compact():
    """The cases of test/golden/bad, whose files are deltas against two good models."""
    source, target = support.COMPACT / "bad", conftest.SCRATCH / "bad"
    manifest = json.loads((source / "cases.json").read_text())["cases"]
    if target.exists():
        return target, manifest
    target.mkdir()
    good = {f"hf_good/{p.name}": p.read_bytes() for p in (source / "hf_good").iterdir()}
    good["good.gguf"] = (source / "good.gguf").read_bytes()
    for case in manifest:
        path = target / case["path"]
        if case["path"].startswith("hf_"):
            path.mkdir(exist_ok=True)
            for name, data in good.items():
                if name.startswith("hf_good/") and name.split("/")[1] not in case["missing"]:
                    (path / name.split("/")[1]).write_bytes(data)
        for name, file in case["files"].items():
            base = good[file["base"]]
            data = b"".join(bytes.fromhex(op) if isinstance(op, str) else base[op[0]:op[0] + op[1]]
                            for op in file["delta"])
            (path / name if path.is_dir() else target / name).write_bytes(data)
    return target, manifest


def cases():
    if support.full():
        folder = support.SHARED / "golden/bad"
        return folder, json.loads((folder / "manifest.json").read_text())["cases"]
    return build_compact()


FOLDER, CASES = cases()


def limited(*arguments):
    def limits():
        if not support.SANITIZED:
            resource.setrlimit(resource.RLIMIT_CPU, (10, 11))
            resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    done = subprocess.run([support.INGOT, *map(str, arguments)], capture_output=True, text=True, errors="replace",
                          preexec_fn=limits, stdin=subprocess.DEVNULL, timeout=support.LIMIT)
    return support.Result(arguments, done.returncode, done.stdout, done.stderr)


def complete(path):
    return limited("run", path, "-p", "hello", "-n", "6", "--temp", "0", "--ignore-eos", "--json", "-t", "1")


@functools.lru_cache(maxsize=None)
def good_tokens(directory):
    result = complete(FOLDER / ("hf_good" if directory else "good.gguf"))
    assert result.status == 0, str(result)
    return json.loads(result.out)["tokens"]


def refused(case, result):
    """None, or why this is no proper refusal."""
    if not 1 <= result.status <= 125:
        return f"exit status {result.status}"
    stem = case["path"].split("-0000")[0]
    if stem.lower() not in result.err.lower():
        return "the message does not name the file"
    if case["mention"] and not any(word.lower() in result.err.lower() for word in case["mention"]):
        return f"the message has none of {case['mention']}"
    return None


def judge(case, folder):
    path = FOLDER / case["path"]
    if case["when"] == "chat":
        messages = conftest.SCRATCH / "hello.json"
        support.write_json(messages, [{"role": "user", "content": "hello"}])
        result = limited("template", path, messages)
        problem = refused(case, result)
        plain = complete(path)
        assert plain.status == 0, str(plain)
        assert json.loads(plain.out)["tokens"] == good_tokens(path.is_dir())
    else:
        result = complete(path)
        problem = refused(case, result)
        if case["expect"] == "accept" or (case["expect"] == "either" and result.status == 0):
            assert result.status == 0, str(result)
            assert json.loads(result.out)["tokens"] == good_tokens(path.is_dir()), str(result)
            return
        if result.status != 0:
            output = folder / "out"
            compiled = limited("compile", path, "-o", output)
            # A tokenizer that grows without end shows when it is used.
            assert compiled.status in range(0 if case["expect"] == "either" else 1, 126), str(compiled)
            assert compiled.status == 0 or not list(folder.iterdir()), str(compiled)
    assert problem is None, f"{problem}\n{result}"


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case, tmp_path):
    judge(case, tmp_path)


def test_there_are_cases():
    assert len(CASES) >= 100
