#!/usr/bin/env python3
"""Instructions of whole steps of small models, counted by callgrind, against recorded ones.

  steps.py [--build FOLDER] check      compares with steps.json; exit 1 where a step takes more instructions
  steps.py [--build FOLDER] record     writes steps.json anew

A model of test/golden is compiled and run under valgrind, with one thread and the variant avx2 (valgrind knows no
AVX-512). Two runs differ only in the number of tokens, so the difference of their counts holds no start and no load:
kernels, the runtime between them, sampling and text. Counts repeat within 0.1 %, however busy the machine is.
"""

import argparse
import json
import lzma
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from report import report

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden/gguf"
RECORD = HERE / "steps.json"
MODELS = ["llama.Q4_1", "gemma3.Q4_K_M", "qwen3.Q6_K"]
TOLERANCE = 0.02  # another C library or patch release of LLVM stays within it
WORDS = "the of and in to a is was for on as by with he at from it his an were are which this be".split()
FEW, MANY = 8, 104  # words of the prompts
SHORT, LONG = 8, 40  # tokens generated


def why_not(build):
    """Why nothing can be counted here, or nothing."""
    if not shutil.which("valgrind"):
        return "valgrind is not installed"
    if not {"avx2", "fma", "f16c"} <= set(re.findall(r"\w+", open("/proc/cpuinfo").read().split("flags", 1)[-1])):
        return "this machine has no AVX2"
    cache = (pathlib.Path(build) / "CMakeCache.txt").read_text()
    if "CMAKE_BUILD_TYPE:STRING=Release\n" not in cache or "CMAKE_CXX_FLAGS_RELEASE:STRING=-O2\n" not in cache:
        return "counts are recorded for the preset 'release'; this build has other options"
    return ""


def run(command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr[-1500:]}")
    return done


def instructions(program, words, tokens, scratch):
    # A word is at least a token; the prompts differ in words only, which repeat.
    text = scratch / "prompt"
    text.write_text(" ".join(WORDS[i % len(WORDS)] for i in range(words)))
    done = run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={scratch / 'callgrind'}", program, "run", "-f",
                text, "-n", tokens, "-t", 1, "--isa=avx2", "--temp", 0, "--ignore-eos", "-q"])
    return int(re.search(r"Collected\s*:\s*(\d+)", done.stderr).group(1))


def measure(build, model):
    """{'token': of one generated token, 'prompt': of the words MANY has beyond FEW}."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        file, program = scratch / f"{model}.gguf", scratch / "program"
        file.write_bytes(lzma.decompress((GOLDEN / f"{model}.gguf.xz").read_bytes()))
        run([pathlib.Path(build) / "bin/ingot", "compile", file, "-o", program, "--target=avx2", "-q"])
        count = {(w, n): instructions(program, w, n, scratch) for w, n in
                 ((FEW, SHORT), (FEW, LONG), (MANY, SHORT))}
    return {"token": (count[FEW, LONG] - count[FEW, SHORT]) // (LONG - SHORT),
            "prompt": count[MANY, SHORT] - count[FEW, SHORT]}


def compare(model, recorded, measured):
    """(faults, gains): lines for a person."""
    faults, gains = [], []
    for what, now in measured.items():
        was = recorded.get(model, {}).get(what)
        if was is None:
            faults.append(f"{model} {what}: not recorded yet")
            continue
        line = f"{model} {what}: {was} -> {now} instructions, {now / was - 1:+.1%}"
        if now > was * (1 + TOLERANCE):
            faults.append(line)
        elif now < was * (1 - TOLERANCE):
            gains.append(line)
    return faults, gains


def load():
    return json.loads(RECORD.read_text())


def command_to_record(build):
    return f"python3 test/guard/steps.py --build {build} record"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parents[1] / "build/release")
    parser.add_argument("action", choices=["check", "record"])
    args = parser.parse_args()
    if reason := why_not(args.build):
        parser.error(reason)
    measured = {model: measure(args.build, model) for model in MODELS}
    if args.action == "record":
        RECORD.write_text(json.dumps(measured, indent=2) + "\n")
        return 0
    faults, gains, recorded = [], [], load()
    for model, counts in measured.items():
        lists = compare(model, recorded, counts)
        faults += lists[0]
        gains += lists[1]
    return report("more than recorded", faults, "fewer than recorded", gains, command_to_record(args.build))


if __name__ == "__main__":
    sys.exit(main())
