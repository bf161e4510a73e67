#!/usr/bin/env python3
"""Writes the compact part of the model references that a clone alone is tested with.

usage: make_compact.py FOLDER_WITH_REFERENCES        (the folder that holds golden/ and text/)

models/, gguf/ and real/ beside this script get some of the reference's files, those above 4 KB as .xz. Left out of
real/ are the logits over the whole vocabulary, which nothing here reads, and all but the start of the test text.
"""
import json
import lzma
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
DIRECTORIES = ["llama", "gemma3_text", "qwen3"]
FILES = ["llama-mini.Q8_0", "llama.Q4_1", "gemma3.Q4_K_M", "qwen2.Q4_K_M", "qwen3.Q6_K"]
TEXT_BYTES = 24000


def put(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    if len(data) > 4096:
        path = path.with_name(path.name + ".xz")
        data = lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)
    path.write_bytes(data)


def without(data, dropped):
    """A safetensors file without the arrays whose name holds `dropped`."""
    size = struct.unpack("<Q", data[:8])[0]
    header, body, out, at = json.loads(data[8:8 + size]), data[8 + size:], {}, 0
    pieces = []
    for name, entry in header.items():
        if dropped in name:
            continue
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            pieces.append(body[begin:end])
            entry = dict(entry, data_offsets=[at, at + end - begin])
            at += end - begin
        out[name] = entry
    text = json.dumps(out).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(pieces)


def main():
    shared = pathlib.Path(sys.argv[1])
    golden = shared / "golden"
    for name in DIRECTORIES:
        for file in sorted((golden / "models" / name).iterdir()):
            put(HERE / "models" / name / file.name, file.read_bytes())
    for stem in FILES:
        for suffix in (".gguf", ".golden.json", ".golden.safetensors"):
            put(HERE / "gguf" / (stem + suffix), (golden / "gguf" / (stem + suffix)).read_bytes())
    samples = json.loads((golden / "gguf/tokenizer_samples.json").read_text())
    samples = {name: rows for name, rows in samples.items() if name[:-5] in FILES}
    put(HERE / "gguf/tokenizer_samples.json", json.dumps(samples).encode())
    for folder in sorted(p for p in (golden / "real").iterdir() if p.is_dir()):
        for file in sorted(folder.iterdir()):
            data = file.read_bytes()
            if file.suffix == ".safetensors":
                data = without(data, "full_logits")
            put(HERE / "real" / folder.name / file.name, data)
    text = lzma.open(shared / "text/wikitext2_raw_test.txt.xz").read()[:TEXT_BYTES]
    put(HERE / "real/wikitext_start.txt", text.decode("utf-8", "ignore").encode())


if __name__ == "__main__":
    main()
