"""Innermost loops of x86 assembly as LLVM prints it, and what they hold.

A loop is found by control flow, not by place: basic blocks from labels and jumps, dominators, back edges. Blocks of
a loop may lie anywhere in the function. Counts are of instructions as written, each once an iteration; where a loop
has branches inside, that is its longest way or more.
"""

import re
from dataclasses import dataclass, field

BYTES = {"x": 16, "y": 32, "z": 64}
PRODUCT = re.compile(r"vpdpbusds?$|vpmaddubsw$|tdp")
FMA = re.compile(r"vfn?m(add|sub)|vdpbf16ps|tdpbf16ps")
SHUFFLE = re.compile(r"vperm|vshuf|vpshuf|vp?unpck|vp?broadcast|vinsert|vextract|vpinsr|vpextr|valign|vpalign|vmovddup|"
                     r"vp?compress|vp?expand")
CONVERT = re.compile(r"vcvt|vpmov(zx|sx|us|s|[qdw][bwd]$)")
NO_READ = re.compile(r"lea|prefetch|nop|call|j")
COMPARE = re.compile(r"cmp|test|vp?test|vu?comis|bt[lqw]?$|mul|div|idiv|push|bndcu")


@dataclass
class Instruction:
    text: str
    comment: str

    def __post_init__(self):
        self.name, _, operands = self.text.partition("\t")
        self.operands = split_operands(operands)
        memory = [i for i, operand in enumerate(self.operands) if "(" in operand or ":" in operand]
        last = memory and memory[0] == len(self.operands) - 1
        moves = bool(memory) and not NO_READ.match(self.name)
        alone = len(self.operands) == 1 or bool(COMPARE.match(self.name))
        self.load = moves and (not last or alone or not self.name.startswith(("v", "mov", "tile", "set")))
        self.store = moves and bool(last) and not COMPARE.match(self.name)
        self.spill = "Spill" in self.comment or "Reload" in self.comment
        # Products of int8 in a register of 64 bytes are one unit of work; an AMX tile has 16 rows of them.
        sizes = [BYTES[kind] for kind in re.findall(r"%([xyz])mm", operands)]
        self.width = 16.0 if self.name.startswith("tdp") else max(sizes, default=0) / 64


def split_operands(text):
    parts, depth, begin = [], 0, 0
    for i, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            parts.append(text[begin:i].strip())
            begin = i + 1
    rest = text[begin:].strip()
    return parts + [rest] if rest else parts


@dataclass
class Block:
    instructions: list = field(default_factory=list)
    next: list = field(default_factory=list)


def functions(text):
    """{name: [Block]}, blocks in the order of the text; the first one is the entry."""
    found = {}
    pieces = re.split(r"^\t\.type\t(\S+),@function$", text, flags=re.M)
    for name, body in zip(pieces[1::2], pieces[2::2]):
        body = body.split(f"\n{name}:", 1)[1].split("\n.Lfunc_end", 1)[0]
        found[name] = blocks_of(body.split("\n")[1:])
    return found


def blocks_of(lines):
    blocks, labels, jumps, falls = [Block()], {}, [[]], [True]

    def begin():
        if blocks[-1].instructions or jumps[-1]:
            blocks.append(Block())
            jumps.append([])
            falls.append(True)

    for line in lines:
        label = re.match(r"(\.LBB\w+):", line)
        if label:
            begin()
            labels[label.group(1)] = len(blocks) - 1
            continue
        code, _, comment = line.partition("#")
        code = code.strip()
        if not line.startswith("\t") or not code or code.startswith("."):
            continue
        instruction = Instruction(code, comment)
        blocks[-1].instructions.append(instruction)
        if re.match(r"j\w+$|ret|ud2", instruction.name):
            jumps[-1] = re.findall(r"\.LBB\w+", code)
            falls[-1] = instruction.name not in ("jmp", "jmpq") and not re.match(r"ret|ud2", instruction.name)
            begin()
    for i, block in enumerate(blocks):
        block.next = [labels[target] for target in jumps[i] if target in labels]
        if falls[i] and i + 1 < len(blocks):
            block.next.append(i + 1)
    return blocks


def dominators(blocks):
    """[set of blocks that every way to block i passes], None where no way leads."""
    before = [[] for _ in blocks]
    for i, block in enumerate(blocks):
        for n in block.next:
            before[n].append(i)
    order, seen, stack = [], {0}, [(0, iter(blocks[0].next))]
    while stack:
        at, following = stack[-1]
        for n in following:
            if n not in seen:
                seen.add(n)
                stack.append((n, iter(blocks[n].next)))
                break
        else:
            order.append(at)
            stack.pop()
    dominator = [None] * len(blocks)
    dominator[0] = {0}
    changed = True
    while changed:
        changed = False
        for i in reversed(order[:-1]):
            known = [dominator[p] for p in before[i] if dominator[p] is not None]
            new = set.intersection(*known) | {i}
            if new != dominator[i]:
                dominator[i], changed = new, True
    return dominator, before


def innermost_loops(blocks):
    """[[Instruction]] of the loops without a loop inside, in the order of their text."""
    dominator, before = dominators(blocks)
    loops = {}
    for i, block in enumerate(blocks):
        for head in block.next:
            if dominator[i] is not None and head in dominator[i]:
                body, work = loops.setdefault(head, {head}), [i]
                while work:
                    b = work.pop()
                    if b not in body:
                        body.add(b)
                        work += [p for p in before[b] if dominator[p] is not None]
    sets = sorted((sorted(body) for body in loops.values()))
    inner = [s for s in sets if not any(other != s and set(other) < set(s) for other in sets)]
    return [[i for b in body for i in blocks[b].instructions] for body in inner]


def count(loop, unit):
    """What an iteration of the loop holds. `unit` says what its work is counted in: 'product', 'fma' (both of
    vectors of 64 bytes) or 'load' (vectors of 64 bytes read)."""
    names = [i.name for i in loop]
    if unit == "product":
        work = sum(i.width for i in loop if PRODUCT.match(i.name))
    elif unit == "fma":
        work = sum(i.width for i in loop if FMA.match(i.name))
    else:
        work = sum(i.width for i in loop if i.load and i.name.startswith("v"))
    return {
        "work": work,
        "instructions": len(loop),
        "products": sum(bool(PRODUCT.match(n)) for n in names),
        "fma": sum(bool(FMA.match(n)) for n in names),
        "loads": sum(i.load for i in loop),
        "stores": sum(i.store for i in loop),
        "shuffles": sum(bool(SHUFFLE.match(n)) for n in names),
        "converts": sum(bool(CONVERT.match(n)) for n in names),
        "prefetches": sum(n.startswith("prefetch") for n in names),
        "spills": sum(i.spill for i in loop),
    }
