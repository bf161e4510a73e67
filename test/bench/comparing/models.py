"""Model files: paths and generated ones, and what a step of each must read and compute."""
import json
import os
import struct
import subprocess
import sys

from .process import Failure, run, say

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


def gguf_metadata(path):
    """{key: value} of a GGUF file, arrays left out."""
    def fail(what):
        raise Failure(f"{path}: {what}")

    with open(path, "rb") as file:
        def take(format_):
            size = struct.calcsize("<" + format_)
            data = file.read(size)
            if len(data) != size:
                fail("ends inside the metadata")
            return struct.unpack("<" + format_, data)[0]

        def text():
            size = take("Q")
            if size > 1 << 24:
                fail(f"a string of {size} bytes in the metadata")
            return file.read(size).decode(errors="replace")

        def value(kind):
            if kind == 8:
                return text()
            if kind == 9:
                item, count = take("I"), take("Q")
                if item in SCALARS:
                    file.seek(count * struct.calcsize("<" + SCALARS[item]), os.SEEK_CUR)
                else:
                    for _ in range(count):
                        value(item)
                return None
            if kind not in SCALARS:
                fail(f"metadata of unknown type {kind}")
            return take(SCALARS[kind])

        if file.read(4) != b"GGUF":
            fail("is not a GGUF file")
        take("I"), take("Q")
        pairs = {}
        for _ in range(take("Q")):
            key = text()
            pairs[key] = value(take("I"))
    return {key: item for key, item in pairs.items() if item is not None}


class Model:
    """One file. The figures come from `ingot inspect`, which reads the file's own tensor list."""

    def __init__(self, name, path, generated):
        self.name, self.path, self.generated = name, path, generated
        self.label = name if generated else os.path.basename(path)
        self.metadata = gguf_metadata(path)
        self.architecture = self.metadata.get("general.architecture", "")

    def describe(self, ingot):
        info = json.loads(run([ingot, "inspect", self.path, "--json", "-q"]).out)
        self.layers, self.kv_token_bytes = info["layers"], info["plan"]["kv_token_bytes"]
        names = {t["name"] for t in info["tensors"]}
        tied = not names & {"output.weight", "lm_head.weight"}
        self.weight_bytes, self.linears = 0, []
        for tensor in info["tensors"]:
            embedding = tensor["name"] in ("token_embd.weight", "model.embed_tokens.weight")
            head = tensor["name"] in ("output.weight", "lm_head.weight") or (embedding and tied)
            if embedding and not tied:
                continue
            self.weight_bytes += tensor["bytes"]
            if len(tensor["shape"]) >= 2:
                kind = {"f32": "f32", "f16": "f32", "bf16": "bf16"}.get(tensor["scheme"], "int8")
                self.linears.append((2 * tensor["shape"][0] * tensor["shape"][1], head, kind))

    def operations(self, rows, head_rows):
        """Multiplications and additions of the linears by kind of arithmetic; the head runs for `head_rows` alone."""
        sums = {}
        for operations, head, kind in self.linears:
            sums[kind] = sums.get(kind, 0) + operations * (head_rows if head else rows)
        return sums

    def cache_bytes(self, positions):
        """Bytes of an f16 cache that one token reads, `positions` tokens being in it; windows read only theirs."""
        window = self.metadata.get(f"{self.architecture}.attention.sliding_window") or 0
        whole = self.layers
        if window and self.architecture == "gemma3":
            whole = sum((layer + 1) % 6 == 0 for layer in range(self.layers))
        elif window:
            whole = 0
        per_layer = self.kv_token_bytes // self.layers
        short = min(positions, window) if window else positions
        return per_layer * (whole * positions + (self.layers - whole) * short)

    def context(self):
        return self.metadata.get(f"{self.architecture}.context_length", 4096)

    def forget_pages(self, path=None):
        """Drops the file's clean pages from the page cache (needs no rights)."""
        descriptor = os.open(path or self.path, os.O_RDONLY)
        try:
            os.fdatasync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def python_with_numpy():
    """Debian's python has numpy even where the one in front does not."""
    for python in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(python) and not subprocess.run([python, "-c", "import numpy"],
                                                         stderr=subprocess.DEVNULL).returncode:
            return python
    raise Failure("synth: models need numpy (apt-get install python3-numpy)")


def open_model(name, work):
    """A path, or synth:PRESET:FORMAT, which is written once."""
    if not name.startswith("synth:"):
        if not os.path.isfile(name):
            raise Failure(f"{name}: no such file")
        return Model(name, name, generated=False)
    parts = name.split(":")
    if len(parts) != 3:
        raise Failure(f"{name}: want synth:PRESET:FORMAT (test/bench/synth --list)")
    path = os.path.join(work, f"{parts[1]}.{parts[2]}.gguf")
    if not os.path.exists(path):
        say(f"writing {path}")
        run([python_with_numpy(), os.path.join(HERE, "synth"), parts[1], parts[2], path])
    return Model(name, path, generated=True)
