#!/usr/bin/env python3
"""Writes the compact form of the malformed models: cases.json beside this script.

usage: make_compact.py FOLDER_WITH_MANIFEST

Nearly every case is a good model with a few bytes changed. A file of a case is stored as a delta: a list
of pieces, [offset, length] of the good file or a string of hexadecimal bytes; files equal to the good
ones are left out of a directory's list and taken over.
"""
import json
import os
import shutil
import sys


def delta(base, data):
    """Greedy block delta: [offset, length] copies from base, a string inserts hexadecimal bytes."""
    window, places = 8, {}
    for i in range(len(base) - window + 1):
        places.setdefault(base[i:i + window], i)
    ops, literal, at = [], bytearray(), 0

    def flush():
        if literal:
            ops.append(literal.hex())
            literal.clear()

    follow = 0  # where the last copy ended: the likeliest place to go on
    while at < len(data):
        start = follow if base[follow:follow + window] == data[at:at + window] else places.get(data[at:at + window])
        if start is None or len(data) - at < window:
            literal.append(data[at])
            at, follow = at + 1, follow + 1
            continue
        size = 0
        while start + size < len(base) and at + size < len(data) and base[start + size] == data[at + size]:
            size += 1
        flush()
        ops.append([start, size])
        at, follow = at + size, start + size
    flush()
    return {"delta": ops}


def main():
    source, here = sys.argv[1], os.path.dirname(os.path.abspath(__file__))
    read = lambda *p: open(os.path.join(source, *p), "rb").read()
    good, cases = read("good.gguf"), []
    good_dir = {n: read("hf_good", n) for n in sorted(os.listdir(os.path.join(source, "hf_good")))}
    for case in json.load(open(os.path.join(source, "manifest.json")))["cases"]:
        case = {k: case[k] for k in ("id", "path", "wrong", "expect", "when", "mention")}
        path = os.path.join(source, case["path"])
        files = {}
        if os.path.isdir(path):
            for name in sorted(os.listdir(path)):
                data = read(case["path"], name)
                if good_dir.get(name) != data:
                    base = name if name in good_dir else "model.safetensors"
                    files[name] = dict(delta(good_dir[base], data), base="hf_good/" + base)
            case["missing"] = sorted(set(good_dir) - set(os.listdir(path)))
        else:
            prefix = case["path"].split("-00001-of-")[0]
            names = [n for n in sorted(os.listdir(source)) if n == case["path"] or n.startswith(prefix + "-0")]
            for name in names:
                files[name] = dict(delta(good, read(name)), base="good.gguf")
        case["files"] = files
        cases.append(case)
    with open(os.path.join(here, "cases.json"), "w") as out:
        out.write('{"cases": [\n' + ",\n".join(json.dumps(c, sort_keys=True) for c in cases) + "\n]}\n")
    shutil.copyfile(os.path.join(source, "good.gguf"), os.path.join(here, "good.gguf"))
    os.makedirs(os.path.join(here, "hf_good"), exist_ok=True)
    for name, data in good_dir.items():
        open(os.path.join(here, "hf_good", name), "wb").write(data)


main()
