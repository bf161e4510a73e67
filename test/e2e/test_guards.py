"""Guards against slower code that need no clock: docs/testing.md says how to read and renew what is recorded."""

import copy
import sys

import pytest

import support

sys.path.insert(0, str(support.ROOT / "test/guard"))
import asmloops  # noqa: E402
import hotloops  # noqa: E402
import steps  # noqa: E402


def report(faults, command):
    return "\n  ".join(["code is slower than recorded:", *faults,
                        f"where that is meant, record anew and commit the difference: {command}"])


def start_loops(isa):
    return support.JOBS.add(("hot loops", isa), hotloops.measure, support.BUILD, isa)


@pytest.mark.parametrize("isa", hotloops.ISAS)
def test_hot_loops(isa):
    kernels, llvm = start_loops(isa).result()
    recorded = hotloops.load()
    faults, _ = hotloops.compare(isa, recorded[isa], kernels)
    if llvm != recorded["llvm"]:
        faults = [f"({llvm}; the record is of LLVM {recorded['llvm']})", *faults] if faults else []
    assert not faults, report(faults, hotloops.command_to_record(support.BUILD))


test_hot_loops.background = start_loops


def test_cycles_are_modelled():
    """Without the tool the counts alone are compared."""
    if not hotloops.mca_tool():
        pytest.skip("llvm-mca-22 is not installed")
    kernels, _ = start_loops("amx").result()
    assert all(loop["cycles"] > 0 for loops in kernels.values() for loop in loops)


def test_regressions_are_seen():
    """The comparison fails where it must: each number alone, a lost kernel, a lost loop."""
    recorded = hotloops.load()["vnni"]
    assert hotloops.compare("vnni", recorded, recorded) == ([], [])
    name = "linear_q6_k_chunk"
    for key in hotloops.TOLERANCE:
        worse = copy.deepcopy(recorded)
        loop = worse[name][0]
        loop[key] = loop[key] * 1.05 + (key == "spills")
        faults, gains = hotloops.compare("vnni", recorded, worse)
        assert len(faults) == 1 and name in faults[0] and key in faults[0] and not gains
        assert hotloops.compare("vnni", worse, recorded)[0] == []
    less = copy.deepcopy(recorded)
    del less[name]
    assert hotloops.compare("vnni", recorded, less)[0] and hotloops.compare("vnni", less, recorded)[0]
    short = copy.deepcopy(recorded)
    short[name].pop()
    assert hotloops.compare("vnni", recorded, short)[0]


def test_loops_are_found():
    """A loop whose blocks lie apart, with a loop inside that is counted alone."""
    text = """
	.type	f,@function
f:                                      # @f
# %bb.0:
	jmp	.LBB0_2
	.p2align	4
.LBB0_1:
	vmovups	%zmm1, (%rdi)
	decq	%rsi
	je	.LBB0_4
.LBB0_2:
	xorl	%eax, %eax
.LBB0_3:
	vmovups	64(%rsp), %zmm3         # 64-byte Reload
	vpdpbusd	(%rcx,%rax,4){1to16}, %zmm0, %zmm1
	vfmadd231ps	%ymm3, %ymm4, %ymm5
	vpbroadcastd	8(%rcx), %zmm2
	incq	%rax
	jne	.LBB0_3
	jmp	.LBB0_1
.LBB0_4:
	retq
.Lfunc_end0:
"""
    loops = asmloops.innermost_loops(asmloops.functions(text)["f"])
    assert len(loops) == 1
    counts = asmloops.count(loops[0], "product")
    expected = {"work": 1, "instructions": 6, "products": 1, "fma": 1, "loads": 3, "stores": 0, "shuffles": 1,
                "converts": 0, "prefetches": 0, "spills": 1}
    assert counts == expected


def start_steps(model):
    if not steps.why_not(support.BUILD):
        return support.JOBS.add(("steps", model), steps.measure, support.BUILD, model)
    return None


@pytest.mark.parametrize("model", steps.MODELS)
def test_instructions_of_steps(model):
    if reason := steps.why_not(support.BUILD):
        pytest.skip(reason)
    faults, _ = steps.compare(model, steps.load(), start_steps(model).result())
    assert not faults, report(faults, steps.command_to_record(support.BUILD))


test_instructions_of_steps.background = start_steps
