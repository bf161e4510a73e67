"""What the end-to-end tests share: where things are, running programs, reading safetensors.

Every program runs with a time limit; nothing here hides a failure.
"""

import concurrent.futures
import json
import lzma
import os
import pathlib
import resource
import struct
import subprocess

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("INGOT_BUILD", ROOT / "build/release")).resolve()
INGOT = str(BUILD / "bin/ingot")
SHARED = pathlib.Path(os.environ.get("INGOT_SHARED", ROOT / "../shared")).resolve()
COMPACT = ROOT / "test/golden"
MODELS = pathlib.Path(os.environ.get("INGOT_MODELS", ROOT / "build/models"))
FAMILIES = ("llama", "mistral", "qwen2", "qwen3", "gemma3_text")
TYPES = {"F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K"}
# The address sanitizer reserves terabytes of addresses and takes its time: limits of both are not for it.
SANITIZED = "ASAN_OPTIONS" in os.environ
# The default allows for a machine that is busy with something else.
LIMIT = float(os.environ.get("INGOT_TEST_LIMIT", "180"))


def full():
    """Whether the whole set of references is here."""
    return (SHARED / "golden/gguf/variants.json").is_file()


class Result:
    def __init__(self, command, status, out, err):
        self.command, self.status, self.out, self.err = command, status, out, err

    def __str__(self):
        return f"{' '.join(map(str, self.command))}\nexit {self.status}\n{self.out[-2000:]}\n{self.err[-3000:]}"


def run(*command, input=None, timeout=LIMIT, check=True, cwd=None, env=None, memory=None, file_size=None):
    """Runs a program; `check` asserts that it succeeded. Limits are in bytes."""

    def limits():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory and not SANITIZED:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        if file_size:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))

    done = subprocess.run(list(map(str, command)), input=input, capture_output=True, text=True, errors="replace",
                          timeout=timeout, cwd=cwd, env=env, preexec_fn=limits,
                          stdin=subprocess.DEVNULL if input is None else None)
    result = Result(command, done.returncode, done.stdout, done.stderr)
    if check:
        assert result.status == 0, str(result)
    return result


def ingot(*arguments, **keywords):
    return run(INGOT, *arguments, **keywords)


def cpu_flags():
    for line in open("/proc/cpuinfo"):
        if line.startswith("flags"):
            return set(line.split(":")[1].split())
    return set()


def host_variants():
    """Variants that this machine runs, as the design's table defines them."""
    flags, variants = cpu_flags(), []
    if {"avx2", "fma", "f16c"} <= flags:
        variants.append("avx2")
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= flags:
        variants.append("avx512")
        if "avx512_vnni" in flags:
            variants.append("vnni")
            if {"amx_tile", "amx_int8", "amx_bf16"} <= flags:
                variants.append("amx")
    return variants


VARIANTS = host_variants()


class Jobs:
    """Work that runs beside the tests: two at a time, in the order in which it was added."""

    def __init__(self):
        self.pool = concurrent.futures.ThreadPoolExecutor(max_workers=2)
        self.futures = {}

    def add(self, key, function, *arguments):
        if key not in self.futures:
            self.futures[key] = self.pool.submit(function, *arguments)
        return self.futures[key]

    def result(self, key, function, *arguments):
        return self.add(key, function, *arguments).result()

    def close(self):
        self.pool.shutdown(wait=True, cancel_futures=True)


JOBS = Jobs()


def unpack(source, target):
    """Copies a folder of the compact references, with its .xz files decompressed."""
    for path in sorted(source.rglob("*")):
        if path.is_file():
            out = target / path.relative_to(source)
            out.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".xz":
                out.with_suffix("").write_bytes(lzma.decompress(path.read_bytes()))
            else:
                out.write_bytes(path.read_bytes())


def read_safetensors(path):
    """{name: array}; F32 and I32 only."""
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    arrays = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        kind = {"F32": "<f4", "I32": "<i4"}[entry["dtype"]]
        arrays[name] = numpy.frombuffer(data[8 + size + begin:8 + size + end], kind).reshape(entry["shape"])
    return arrays


def last_line(text):
    lines = [line for line in text.strip().split("\n") if line]
    return lines[-1] if lines else ""


def write_json(path, value):
    pathlib.Path(path).write_text(json.dumps(value))
    return path
