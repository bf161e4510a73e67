"""Ingot as a process that answers with logits, hidden states and greedy tokens; reading arrays."""

import json
import os
import struct
import subprocess
import sys

import numpy


def read_json(path):
    with open(path) as f:
        return json.load(f)


def read_arrays(path):
    """{name: array} of a safetensors file with F32 and I32, mapped, not read."""
    with open(path, "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        header = json.loads(f.read(size))
    data, arrays = numpy.memmap(path, numpy.uint8, "r", 8 + size), {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            arrays[name] = data[begin:end].view({"F32": "<f4", "I32": "<i4"}[entry["dtype"]]).reshape(entry["shape"])
    return arrays


class Ingot:
    """`verify --dump` of the compiled model (native) or of the file with the reference kernels."""

    def __init__(self, program, options, work, model=()):
        self.program, self.options, self.work, self.model = program, options, work, model

    def run(self, command, *arguments):
        done = subprocess.run([self.program, command, *self.model, *arguments, *self.options], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, done.args))}: exit {done.returncode}\n{done.stderr[-2000:]}")
        return done.stdout

    def ids(self, ids):
        file = os.path.join(self.work, "ids.json")
        with open(file, "w") as f:
            json.dump([int(i) for i in ids], f)
        return file

    def dump(self, ids, positions, *arguments):
        output = os.path.join(self.work, "dump.safetensors")
        self.run("verify", "--ids", self.ids(ids), "--dump", output, "--positions", ",".join(map(str, positions)),
                 *arguments)
        arrays = read_arrays(output)
        os.unlink(output)
        return arrays

    def logits(self, ids, positions):
        return self.dump(ids, positions)["logits"]

    def hidden(self, ids, layers):
        arrays = self.dump(ids, [len(ids) - 1], "--hidden")
        names = [*(f"hidden.layer.{i}" for i in range(layers)), "hidden.norm"]
        return numpy.concatenate([arrays[n] for n in names])
