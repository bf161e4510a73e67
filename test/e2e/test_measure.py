"""What steps and compiles take: explain --measure and --timings are whole, and change nothing."""

import json

import pytest

import support

ISA = support.VARIANTS[-1]
LIMITS = {"read", "int8", "f32", "barrier"}


def measured(*command):
    return json.loads(support.run(*command, "--measure", "--json", "-q").out)


def program_of(described, isa, m_class):
    variant = next(v for v in described if v["isa"] == isa)
    kernels = {kernel["name"]: kernel for kernel in variant["kernels"]}
    return kernels, next(p for p in variant["programs"] if p["m_class"] == m_class)


def launches_of(program):
    for run in program["plan"]:
        for stage in run["stages"]:
            for launch in stage:
                yield launch, run["repeat"]


def check(result, described):
    kernels, program = program_of(described, result["isa"], result["m_class"])
    assert {k["name"] for k in result["kernels"]} == {l["kernel"] for l, _ in launches_of(program)}
    for kernel in result["kernels"]:
        count = sum(n for launch, n in launches_of(program) if launch["kernel"] == kernel["name"])
        assert kernel["launches"] == count and kernel["near"] in LIMITS and kernel["seconds"] > 0
        # The slowest worker of each launch; medians of both.
        assert kernel["slowest_seconds"] > 0.8 * kernel["seconds"]
        rows = (result["n_batch"] if kernels[kernel["name"]]["domain"] == "out" or not result["n_prompt"]
                else result["n_prompt"])
        operations = kernels[kernel["name"]].get("flops_per_row", 0) * rows * count
        if operations:
            assert kernel["int8_ops"] + kernel["f32_ops"] == pytest.approx(operations)
            assert kernel["weight_bytes"] == kernels[kernel["name"]]["weight_bytes"] * count
    # One group a stage, the last of them the end of the step.
    assert sum(group["count"] for group in result["barriers"]) == program["stages"] == program["barriers"] + 1
    families = sum(family["seconds"] for family in result["families"])
    assert families == pytest.approx(sum(kernel["seconds"] for kernel in result["kernels"]))
    assert all(result["limits"][f"{name}_per_second"] > 0 for name in ("read_bytes", "int8_ops", "f32_ops"))
    # Every piece of a worker's time is a kernel's or a barrier's. A step of these models takes some 50 us, of
    # which starting it is some; sums of medians differ from the median of sums.
    assert 0.6 < result["explained"] <= 1.001, result["explained"]
    assert families + result["barrier_seconds"] == pytest.approx(result["explained"] * result["step_seconds"], rel=0.3)
    assert result["rest_seconds"] < 0.4 * result["step_seconds"]


def test_measure(tiny_binary):
    described = json.loads(support.run(tiny_binary, "explain", "--json").out)
    results = measured(tiny_binary, "explain", "-p", "40", "-n", "30", "-b", "1,3", "-d", "0,20", "-r", "5", "-t", "1,2")
    assert [(r["n_threads"], r["n_depth"], r["n_prompt"], r["n_batch"]) for r in results] == [
        (threads, depth, prompt, batch) for threads in (1, 2) for depth in (0, 20)
        for prompt, batch in ((0, 1), (0, 3), (40, 1))]
    for result in results:
        assert result["isa"] == ISA and result["steps"] == (5 if result["n_prompt"] else 30)
        check(result, described)
    single = [r for r in results if r["n_threads"] == 1]
    assert all(r["barrier_seconds"] < 0.4 * r["step_seconds"] for r in single)
    # Deeper: more keys to read.
    near, deep = ([k for k in r["kernels"] if k["kv_bytes"]] for r in (single[0], single[3]))
    assert near and deep and sum(k["kv_bytes"] for k in deep) > sum(k["kv_bytes"] for k in near)


@pytest.mark.parametrize("isa", support.VARIANTS)
def test_measure_of_a_model_file(isa, tiny):
    described = json.loads(support.ingot("explain", tiny, f"--target={isa}", "--json").out)
    results = measured(support.INGOT, "explain", tiny, f"--isa={isa}", "-p", "16", "-n", "10", "-t", "1")
    for result in results:
        assert result["isa"] == isa
        check(result, described)


def test_measure_prints(tiny_pack):
    text = support.ingot("explain", tiny_pack, "--measure", "-p", "20", "-n", "10", "-t", "2").out
    for part in ("generation at depth 0: 2 threads", "prompt of 20", "limits: read", "max/av", "barriers after", "rest"):
        assert part in text, text


@pytest.mark.parametrize("arguments, status, word", [
    (["-p", "8"], 2, "--measure"), (["-t", "2"], 2, "--measure"), (["--measure", "-p", "0", "-n", "0"], 2, "above 0"),
    (["--measure", "-p", "100000"], 1, "100000"),
    (["--measure", "-p", "0", "-n", "1", "-b", "600"], 1, "512 rows"), (["--measure", "-b", "0"], 2, "-b"),
    (["--measure", "-t", "0"], 2, "-t"), (["--measure", "-p", "200", "--ctx", "250", "-d", "100"], 1, "positions")])
def test_measure_refuses(arguments, status, word, tiny):
    result = support.ingot("explain", tiny, *arguments, check=False)
    assert result.status == status and word in result.err and not result.out, str(result)


def test_critical_path(tiny_binary):
    """One worker's path is all the work; more workers never make it longer, and halve what divides well."""
    described = json.loads(support.run(tiny_binary, "explain", "--json").out)
    text = support.run(tiny_binary, "explain").out
    assert "critical path of 2 workers" in text and "barriers" in text
    for variant in described:
        kernels = {kernel["name"]: kernel for kernel in variant["kernels"]}
        for program in variant["programs"]:
            stages = sum(len(run["stages"]) * run["repeat"] for run in program["plan"])
            assert stages == program["stages"] == program["barriers"] + 1
            assert sum(n for _, n in launches_of(program)) == program["launches"]
            one, two, four = program["critical_path"]
            assert [p["workers"] for p in program["critical_path"]] == [1, 2, 4]
            rows = {"rows": program["max_rows"], "out": program["max_rows"] if program["max_rows"] <= 8 else 1}
            for kind in ("int8", "f32"):
                operations = sum(kernels[launch["kernel"]]["flops_per_row"] * rows[kernels[launch["kernel"]]["domain"]] * n
                                 for launch, n in launches_of(program) if kernels[launch["kernel"]].get("dot") == kind)
                # Attention is of f32.
                assert one[f"{kind}_ops"] == pytest.approx(operations) if kind == "int8" else one["f32_ops"] > operations
            for key in ("weight_bytes", "activation_bytes", "kv_bytes", "int8_ops", "f32_ops"):
                assert one[key] >= two[key] >= four[key] >= 0
            assert two["int8_ops"] + two["f32_ops"] < 0.85 * (one["int8_ops"] + one["f32_ops"])


def test_timings(tiny, scratch):
    """Where a compile's time goes is told apart from the artefact, which stays the same."""
    target = f"--target={','.join(support.VARIANTS)}"
    support.ingot("compile", tiny, "-o", scratch / "plain", target, "-q")
    loud = support.ingot("compile", tiny, "-o", scratch / "timed", target, "-q", "--verbose", "--timings",
                         scratch / "t.json")
    assert (scratch / "plain").read_bytes() == (scratch / "timed").read_bytes()
    report = json.loads((scratch / "t.json").read_text())
    phases = [(phase["phase"], phase.get("isa")) for phase in report["phases"]]
    shared = [(name, None) for name in ("import", "model", "quant", "shape")]
    each = [(name, isa) for isa in support.VARIANTS for name in ("kernel", "program")]
    assert phases == shared + each + [("target", isa) for isa in support.VARIANTS] + [("package", None)]
    assert all(phase["seconds"] > 0 for phase in report["phases"]) and report["peak_bytes"] > 1e6
    assert {p["phase"] for p in report["passes"]} == {"model", "quant", "shape", "kernel", "program"}
    assert all(p["pass"] and p["seconds"] >= 0 for p in report["passes"])
    described = json.loads(support.run(scratch / "timed", "explain", "--json").out)
    for variant, told in zip(report["variants"], described):
        assert variant["isa"] == told["isa"] and variant["object_bytes"] == told["object_bytes"]
        assert variant["peak_bytes"] > 1e6
        sizes = {kernel["name"]: kernel["code_bytes"] for kernel in variant["kernels"]}
        assert sizes == {kernel["name"]: kernel["code_bytes"] for kernel in told["kernels"]}
        assert all(size > 20 for size in sizes.values()) and sum(sizes.values()) < variant["object_bytes"]
        for kernel in variant["kernels"]:
            assert all(kernel[f"{part}_seconds"] > 0 for part in ("build", "optimize", "generate"))
        for part in ("build", "optimize", "generate"):
            together = sum(kernel[f"{part}_seconds"] for kernel in variant["kernels"])
            # What belongs to no kernel: tables, and passes over the whole module.
            assert 0.4 * variant[f"{part}_seconds"] < together < 1.01 * variant[f"{part}_seconds"], part
        assert variant["seconds"] < report["seconds"]
        slowest = max(variant["kernels"], key=lambda kernel: kernel["seconds"])["name"]
        assert any(f"variant {variant['isa']}" in line and slowest in line for line in loud.err.split("\n")), loud.err


def test_slow_kernels_are_named(tiny_directory, scratch):
    result = support.ingot("compile", tiny_directory, "-o", scratch / "x", f"--target={ISA}", "-q", "--kernel-seconds",
                           "0.000001")
    described = json.loads(support.run(scratch / "x", "explain", "--json").out)
    for kernel in described[0]["kernels"]:
        assert any(kernel["name"] in line and "rows " in line and "layer " in line and line.startswith("warning: ")
                   for line in result.err.split("\n")), result.err
    quiet = support.ingot("compile", tiny_directory, "-o", scratch / "y", f"--target={ISA}", "-q")
    assert not quiet.err and (scratch / "x").read_bytes() == (scratch / "y").read_bytes()
    for bad in ("0", "-1"):
        result = support.ingot("compile", tiny_directory, "-o", scratch / "z", "--kernel-seconds", bad, check=False)
        assert result.status == 1 and "--kernel-seconds" in result.err and not (scratch / "z").exists()


def test_timings_of_other_commands(tiny, tiny_binary, scratch):
    """Wherever a model file is compiled first."""
    for i, command in enumerate((["run", tiny, "-p", "a", "-n", "1"], ["bench", tiny, "-p", "4", "-n", "0", "-r", "1"],
                                 ["explain", tiny, "--measure", "-p", "0", "-n", "2"])):
        result = support.ingot(*command, "-q", "--verbose", "--timings", scratch / f"{i}.json")
        assert "slowest" in result.err
        report = json.loads((scratch / f"{i}.json").read_text())
        assert report["variants"][0]["kernels"] and report["seconds"] > 0
    # Planned only: no kernel was compiled.
    support.ingot("inspect", tiny, "-q", "--timings", scratch / "planned.json")
    assert not json.loads((scratch / "planned.json").read_text())["variants"]
    result = support.ingot("run", tiny_binary, "-p", "a", "--timings", scratch / "no.json", check=False)
    assert result.status == 2 and "compiled already" in result.err and not (scratch / "no.json").exists()
    # Said before the work, and nothing is read and written at once.
    for place in (scratch / "nowhere/t.json", scratch / "x", tiny, scratch):
        result = support.ingot("compile", tiny, "-o", scratch / "x", "--timings", place, "-q", check=False)
        assert result.status == 1 and str(place) in result.err and not (scratch / "x").exists(), str(result)
