#!/usr/bin/env python3
"""Counts of the hot loops of generated kernels against recorded ones; runs no kernel and needs no clock.

  hotloops.py [--build FOLDER] [-k PART] check     compares with hotloops.json; exit 1 where code got slower
  hotloops.py [--build FOLDER] [-k PART] show      prints what the loops hold
  hotloops.py [--build FOLDER] record              writes hotloops.json anew

kernel_asm emits a fixed set of kernels for every ISA. Of each, the innermost loops that do its work are counted, the
largest first, and put to llvm-mca (a model of a processor, where installed) for the cycles of an iteration. All but
spills are compared per unit of work, so that loops unrolled differently stay comparable.
"""

import argparse
import concurrent.futures
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import asmloops
from report import report

HERE = pathlib.Path(__file__).resolve().parent
RECORD = HERE / "hotloops.json"
# The processor whose model llvm-mca uses: fixed, so that the answer is the same on every machine. LLVM's model of
# Sapphire Rapids gives products of 512 bits one port only where there are two; it is the one that knows AMX.
ISAS = {"avx2": "znver3", "avx512": "icelake-server", "vnni": "icelake-server",
        "avx512bf16": "znver4", "amx": "sapphirerapids", "amxbf16": "sapphirerapids"}
LOOPS = 6  # of a kernel, the largest
ITERATIONS = 40
# Growth that is let pass, as a share; another patch release of LLVM stays within it.
TOLERANCE = {"instructions": 0.03, "loads": 0.03, "stores": 0.03, "shuffles": 0.03, "converts": 0.03, "cycles": 0.04,
             "spills": 0.0}


def unit_of(name):
    if name.startswith("linear"):
        return "fma" if any(f"_{scheme}_" in name for scheme in ("f32", "f16", "bf16")) else "product"
    return "fma" if name.startswith(("attention", "attn_")) else "load"


def mca_tool():
    for name in ("llvm-mca-22", "/usr/lib/llvm-22/bin/llvm-mca"):
        if shutil.which(name):
            return shutil.which(name)
    return None


def add_cycles(tool, isa, loops):
    """Sets 'cycles' of each (counts, instructions): those of one iteration when many follow each other."""
    text = []
    for i, (_, loop) in enumerate(loops):
        # Where a jump leads does not matter to the model, but the label has to exist.
        text += [f"# LLVM-MCA-BEGIN {i}", *("\t" + instruction.text for instruction in loop), "# LLVM-MCA-END"]
    with tempfile.NamedTemporaryFile("w", suffix=".s") as file:
        file.write("\n".join(text) + "\n")
        file.flush()
        done = subprocess.run([tool, "-mtriple=x86_64-unknown-linux-gnu", f"-mcpu={ISAS[isa]}", "--json",
                               f"-iterations={ITERATIONS}", "--all-views=false", "--summary-view", file.name],
                              capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"llvm-mca: {done.stderr.strip()[:600]}")
    regions = json.loads(done.stdout)["CodeRegions"]
    if len(regions) != len(loops):
        raise RuntimeError(f"llvm-mca answered {len(regions)} of {len(loops)} loops")
    for region in regions:
        loops[int(region["Name"])][0]["cycles"] = round(region["SummaryView"]["TotalCycles"] / ITERATIONS, 1)


def measure(build, isa, part=None):
    """({kernel: [counts of a loop]} for an ISA, version of LLVM)."""
    command = [str(pathlib.Path(build) / "bin/kernel_asm"), isa] + ([part] if part else [])
    done = subprocess.run(command, capture_output=True, text=True)
    if part and "no kernel of that name" in done.stderr:
        return {}, ""
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    kernels, all_loops = {}, []
    for name, blocks in asmloops.functions(done.stdout).items():
        counted = [(asmloops.count(loop, unit_of(name)), loop) for loop in asmloops.innermost_loops(blocks)]
        hot = sorted((c for c in counted if c[0]["work"]), key=lambda c: (-c[0]["work"], c[0]["instructions"]))[:LOOPS]
        if not hot:
            raise RuntimeError(f"{isa} {name}: no loop with its work in the assembly")
        kernels[name] = [counts for counts, _ in hot]
        kernels[name][0]["calls"] = sum(i.name.startswith("call") for b in blocks for i in b.instructions)
        all_loops += hot
    if tool := mca_tool():
        add_cycles(tool, isa, all_loops)
    return kernels, done.stdout.split("\n", 1)[0].removeprefix("# LLVM ")


def compare_loop(old, new):
    """(what got worse, what got better) as texts."""
    worse, better = [], []
    for key, allowed in TOLERANCE.items():
        if key not in new or key not in old:
            continue
        was, now = old[key] / old["work"], new[key] / new["work"]
        text = f"{key} {old[key]:g} -> {new[key]:g}" + (f" ({now / was - 1:+.1%})" if was else "")
        if now > was * (1 + allowed) + 1e-9:
            worse.append(text)
        elif now < was * (1 - max(allowed, 0.01)):
            better.append(text)
    if new.get("calls", 0) > old.get("calls", 0):
        worse.append(f"calls {old.get('calls', 0)} -> {new['calls']}")
    return worse, better


def compare(isa, recorded, kernels):
    """(faults, gains): lines for a person."""
    faults, gains = [], []
    for name in sorted(recorded.keys() | kernels.keys()):
        old, new = recorded.get(name), kernels.get(name)
        if old is None or new is None:
            faults.append(f"{isa} {name}: {'not recorded yet' if old is None else 'recorded, but not emitted'}")
            continue
        for rank, (a, b) in enumerate(zip(old, new), 1):
            title = f"{isa} {name} loop {rank}"
            if a["work"] != b["work"]:
                title += f", {a['work']:g} -> {b['work']:g} units of work"
            worse, better = compare_loop(a, b)
            faults += [f"{title}: {', '.join(worse)}"] if worse else []
            gains += [f"{title}: {', '.join(better)}"] if better else []
        if len(old) > len(new):
            faults.append(f"{isa} {name}: {len(new)} loops, {len(old)} recorded")
    return faults, gains


def command_to_record(build):
    return f"python3 test/guard/hotloops.py --build {build} record"


def load():
    """{'llvm': version, isa: {kernel: [counts]}}."""
    data = json.loads(RECORD.read_text())
    fields = data["fields"]
    return {key: {name: [dict(zip(fields, values)) for values in loops] for name, loops in value.items()}
            if isinstance(value, dict) else value for key, value in data.items()}


def whole(number):
    return int(number) if number == int(number) else number


def save(results, llvm):
    """One kernel a line, so that a change reads well as a difference."""
    fields = ["work", "instructions", "products", "fma", "loads", "stores", "shuffles", "converts", "prefetches",
              "spills", "cycles", "calls"]
    lines = ["{", f'"llvm": {json.dumps(llvm)},', f'"fields": {json.dumps(fields)}']
    for isa, kernels in results.items():
        lines[-1] += ","
        lines.append(f'"{isa}": {{')
        for name, loops in kernels.items():
            values = [[whole(counts[f]) for f in fields if f in counts] for counts in loops]
            lines.append(f'  "{name}": {json.dumps(values)},')
        lines[-1] = lines[-1].rstrip(",") + "}"
    RECORD.write_text("\n".join(lines) + "\n}\n")


def show(isa, kernels):
    for name, loops in kernels.items():
        for rank, counts in enumerate(loops, 1):
            print(f"{isa} {name} loop {rank}: " + " ".join(f"{k} {v:g}" for k, v in counts.items() if v))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parents[1] / "build/release")
    parser.add_argument("-k", help="kernels whose name contains this; not for record")
    parser.add_argument("action", choices=["check", "show", "record"])
    args = parser.parse_args()
    if args.action == "record" and (args.k or not mca_tool()):
        parser.error("a record holds all kernels and needs llvm-mca-22")
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        measured = dict(zip(ISAS, pool.map(lambda isa: measure(args.build, isa, args.k), ISAS)))
    results = {isa: kernels for isa, (kernels, _) in measured.items()}
    if args.action == "record":
        save(results, measured["vnni"][1])
        print(f"{RECORD}: {sum(map(len, results.values()))} kernels")
        return 0
    if args.action == "show":
        for isa, kernels in results.items():
            show(isa, kernels)
        return 0
    recorded, faults, gains = load(), [], []
    for isa, kernels in results.items():
        known = {name: v for name, v in recorded[isa].items() if not args.k or args.k in name}
        lists = compare(isa, known, kernels)
        faults += lists[0]
        gains += lists[1]
    return report("slower than recorded", faults, "faster than recorded", gains, command_to_record(args.build))


if __name__ == "__main__":
    sys.exit(main())
