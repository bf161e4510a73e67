"""What is measured: names of cases, and the limit that the machine sets to each.

    pp512            a prompt of 512 tokens, one sequence                              tokens/s
    tg128            128 tokens generated one after the other, from an empty cache     tokens/s
    tg128@d4096      the same with 4096 tokens in the cache before                     tokens/s
    tg128@b8         8 sequences together, total of all                                tokens/s
    mix256+8         steps of 256 prompt rows and one row of each of 8 sequences       tokens/s
    start            whole process to one token of a one-word text, page cache warm    ms
    start-cold       the same, the pages of the model's file dropped before            ms
    ppl              perplexity of a text                                              -

A case ending in /kv8 has the KV cache in int8.
"""
import re
from typing import NamedTuple, Optional

from .process import Failure

RATE, MILLISECONDS, PERPLEXITY = "tokens/s", "ms", "perplexity"
FULL = (["pp512", "pp2048", "tg128", "tg128@d1024", "tg128@d4096"] + [f"tg128@b{b}" for b in (1, 2, 4, 8, 16, 32)]
        + ["mix256+8", "pp512/kv8", "tg128/kv8", "tg128@d4096/kv8", "start", "start-cold", "ppl"])
SETS = {
    "all": FULL,
    "quick": ["pp512", "tg128"],
    "depth": ["tg128@d1024", "tg128@d4096"],
    "batch": [f"tg128@b{b}" for b in (1, 2, 4, 8, 16, 32)],
    "kv8": [case for case in FULL if case.endswith("/kv8")],
    "memory": ["pp512", "tg128", "start"],
}


class Case(NamedTuple):
    name: str
    kind: str  # pp, tg, mix, start, ppl
    prompt: int = 0
    generate: int = 0
    depth: int = 0
    batch: Optional[int] = None  # None: one sequence, measured by the single-sequence tool of a peer
    kv8: bool = False
    cold: bool = False

    @property
    def unit(self):
        return {"start": MILLISECONDS, "ppl": PERPLEXITY}.get(self.kind, RATE)

    @property
    def sequences(self):
        return (self.batch or 1) + (self.kind == "mix")

    @property
    def positions(self):
        """Most positions of one sequence."""
        return max(self.depth + self.prompt + self.generate, 512) + 8

    def ratio(self, ours, theirs):
        """Above 1: ours is better, whatever the unit."""
        return ours / theirs if self.unit == RATE else theirs / ours


def parse(name):
    core, _, suffix = name.partition("/")
    kv8 = suffix == "kv8"
    if not suffix or kv8:
        if core in ("start", "start-cold"):
            return Case(name, "start", kv8=kv8, cold=core != "start")
        if core == "ppl":
            return Case(name, "ppl", kv8=kv8)
        match = re.fullmatch(r"pp([1-9]\d*)(?:@d(\d+))?", core)
        if match:
            return Case(name, "pp", prompt=int(match[1]), depth=int(match[2] or 0), kv8=kv8)
        match = re.fullmatch(r"tg([1-9]\d*)(?:@d(\d+))?(?:@b([1-9]\d*))?", core)
        if match:
            return Case(name, "tg", generate=int(match[1]), depth=int(match[2] or 0),
                        batch=int(match[3]) if match[3] else None, kv8=kv8)
        match = re.fullmatch(r"mix([1-9]\d*)\+([1-9]\d*)(?:@d(\d+))?", core)
        if match:
            return Case(name, "mix", prompt=int(match[1]), batch=int(match[2]), depth=int(match[3] or 0), kv8=kv8)
    raise Failure(f"--cases: '{name}' is no case; for instance {', '.join(FULL[:4])}, mix256+8, start, ppl, "
                  f"or a set: {', '.join(SETS)}")


def parse_list(text):
    cases = {}
    for word in filter(None, text.split(",")):
        for name in SETS.get(word, [word]):
            cases[name] = parse(name)
    if not cases:
        raise Failure("--cases: no case")
    return list(cases.values())


def working_set(case, model):
    """Bytes that one step of the case reads: weights, and the cache of all sequences at half of the generation."""
    if case.kind in ("pp", "start", "ppl"):
        return model.weight_bytes
    cached = model.cache_bytes(case.depth + case.generate // 2) // (2 if case.kv8 else 1)
    return model.weight_bytes + (case.batch or 1) * cached


def limit(case, model, probe):
    """Tokens per second that the probe allows, or None where the case has no limit.

    Weights are read once per step and the cache of each sequence once; multiplications of the linears run at the
    peak of their kind of arithmetic (attention's are not counted). The slower of both rules.
    """
    if case.unit != RATE:
        return None
    rows = {"pp": case.prompt, "mix": case.prompt + (case.batch or 1)}.get(case.kind, case.batch or 1)
    heads = {"pp": 1, "mix": 1 + (case.batch or 1)}.get(case.kind, case.batch or 1)
    # Variants without bf16 dots (and results of before there were any) multiply bf16 weights by fma.
    peaks = {"int8": probe["int8_gops"], "f32": probe["fma_gflops"],
             "bf16": probe.get("bf16_gflops") or probe["fma_gflops"]}
    work = model.operations(rows, heads)
    arithmetic = 0.0
    if all(peaks[kind] for kind in work):
        arithmetic = sum(operations / peaks[kind] for kind, operations in work.items()) / 1e9
    # Of a prompt's time the reading is no part worth naming unless it is very short.
    return rows / max(arithmetic, working_set(case, model) / (probe["read_gbs"] * 1e9))
