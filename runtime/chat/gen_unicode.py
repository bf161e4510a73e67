#!/usr/bin/env python3
"""Writes UnicodeTables.inc: what str.lower, upper, title, isprintable, isalpha and isdigit need.

Usage: gen_unicode.py > UnicodeTables.inc. The tables follow the Unicode version of the Python that runs this.
"""
import sys
import unicodedata

N = 0x110000


def ranges(pred):
    out, start = [], None
    for cp in range(N):
        if pred(chr(cp)):
            if start is None:
                start = cp
        elif start is not None:
            out.append((start, cp - 1))
            start = None
    if start is not None:
        out.append((start, N - 1))
    return out


def emit_ranges(name, rs):
    print(f"static const CodeRange {name}[] = {{")
    line = "   "
    for a, b in rs:
        item = f" {{{a:#x},{b:#x}}},"
        if len(line) + len(item) > 108:
            print(line)
            line = "   "
        line += item
    print(line + "\n};")


def emit_map(name, fn):
    """Runs of code points with one delta and one stride; results of several points go to the special list."""
    runs, special = [], []
    for cp in range(N):
        r = fn(chr(cp))
        if r == chr(cp):
            continue
        if len(r) > 1:
            special.append((cp, [ord(c) for c in r]))
            continue
        d = ord(r) - cp
        if runs:
            first, last, stride, delta = runs[-1]
            gap = cp - last
            if delta == d and gap <= 2 and (stride == 0 or stride == gap):
                runs[-1] = (first, cp, gap, delta)
                continue
        runs.append((cp, cp, 0, d))
    print(f"static const CaseRun {name}Runs[] = {{")
    line = "   "
    for a, b, s, d in runs:
        item = f" {{{a:#x},{b:#x},{max(s, 1)},{d}}},"
        if len(line) + len(item) > 108:
            print(line)
            line = "   "
        line += item
    print(line + "\n};")
    print(f"static const CaseSpecial {name}Special[] = {{")
    for cp, out in special:
        print(f"    {{{cp:#x}, {{" + ", ".join(f"{c:#x}" for c in out + [0] * (3 - len(out))) + "}},")
    print("};")


print(f"// Written by gen_unicode.py from Unicode {unicodedata.unidata_version}; do not edit.")
print("// clang-format off")
emit_ranges("kNotPrintable", ranges(lambda c: not c.isprintable()))
emit_ranges("kAlpha", ranges(str.isalpha))
emit_ranges("kDigit", ranges(str.isdigit))
emit_ranges("kDecimal", ranges(str.isdecimal))
emit_ranges("kNumeric", ranges(str.isnumeric))
emit_ranges("kUpperCase", ranges(str.isupper))
emit_ranges("kLowerCase", ranges(str.islower))
emit_ranges("kTitleCase", ranges(lambda c: unicodedata.category(c) == "Lt"))
emit_map("kLower", str.lower)
emit_map("kUpper", str.upper)
emit_map("kTitle", str.title)
print("// clang-format on")
sys.exit(0)
