"""test/bench/compare and test/bench/dashboard: names of cases, limits, resuming, tables. Peers take part in none."""

import json
import runpy
import sys

import pytest

import support

sys.path.insert(0, str(support.ROOT / "test/bench"))

from comparing import board, cases, models, store, table  # noqa: E402
from comparing.process import Failure, run  # noqa: E402

COMPARE = support.ROOT / "test/bench/compare"
DASHBOARD = support.ROOT / "test/bench/dashboard"


@pytest.mark.parametrize("name, expected", [
    ("pp512", dict(kind="pp", prompt=512, generate=0, depth=0, batch=None, kv8=False)),
    ("tg128@d4096/kv8", dict(kind="tg", generate=128, depth=4096, batch=None, kv8=True)),
    ("tg128@b8", dict(kind="tg", generate=128, depth=0, batch=8)),
    ("tg16@d100@b2", dict(kind="tg", generate=16, depth=100, batch=2)),
    ("mix256+8", dict(kind="mix", prompt=256, batch=8, sequences=9)),
    ("start-cold", dict(kind="start", cold=True, unit="ms")),
])
def test_names_of_cases(name, expected):
    case = cases.parse(name)
    assert {key: getattr(case, key) for key in expected} == expected
    assert case.name == name


@pytest.mark.parametrize("name", ["", "pp", "pp0", "tg128@", "tg128@x4", "mix8", "pp512/kv4", "start8", "512"])
def test_names_that_are_no_case(name):
    with pytest.raises(Failure):
        cases.parse(name)


def test_ratio_is_above_one_where_ours_is_better():
    assert cases.parse("pp512").ratio(200, 100) == 2 and cases.parse("start").ratio(10, 40) == 4


class FakeModel:
    """Two linears of 1000 x 1000 and a head, 1 MB of weights, 100 bytes of cache per token."""
    weight_bytes, label = 1_000_000, "fake"

    def operations(self, rows, head_rows):
        return {"int8": 4_000_000 * rows + 2_000_000 * head_rows}

    def cache_bytes(self, positions):
        return 100 * positions


PROBE = {"bytes": 1, "read_gbs": 10.0, "int8_gops": 100.0, "fma_gflops": 10.0}


def test_limits():
    def limit(name):
        return cases.limit(cases.parse(name), FakeModel(), PROBE)

    # Bytes rule: weights and 32 tokens of cache, or 5000 + 32; with int8 half of the cache.
    assert limit("tg64") == pytest.approx(10e9 / 1_003_200)
    assert limit("tg64@d5000") == pytest.approx(10e9 / 1_503_200)
    assert limit("tg64@d5000/kv8") == pytest.approx(10e9 / 1_251_600)
    # Arithmetic rules: 512 rows and one row of the head; 32 rows with their heads.
    assert limit("pp512") == pytest.approx(512 * 100e9 / (512 * 4e6 + 2e6))
    assert limit("tg64@b32") == pytest.approx(100e9 / 6e6)
    assert limit("mix100+4") == pytest.approx(104 * 100e9 / (104 * 4e6 + 5 * 2e6))
    assert limit("start") is None


def test_limit_of_bf16_weights_is_that_of_bf16_dots_where_there_are_some():
    class Bf16(FakeModel):
        def operations(self, rows, head_rows):
            return {"bf16": 4_000_000 * rows}

    case = cases.parse("pp512")
    assert cases.limit(case, Bf16(), PROBE) == pytest.approx(10e9 / 4e6)
    assert cases.limit(case, Bf16(), {**PROBE, "bf16_gflops": 0.0}) == pytest.approx(10e9 / 4e6)
    assert cases.limit(case, Bf16(), {**PROBE, "bf16_gflops": 20.0}) == pytest.approx(20e9 / 4e6)


def test_window_layers_read_their_window_only():
    model = models.Model.__new__(models.Model)
    model.layers, model.kv_token_bytes, model.architecture = 6, 600, "gemma3"
    model.metadata = {"gemma3.attention.sliding_window": 512}
    assert model.cache_bytes(256) == 256 * 600
    assert model.cache_bytes(4096) == 4096 * 100 + 5 * 512 * 100


def test_summary():
    case = cases.parse("tg64")
    cell = {"rounds": [{"samples": {"Ingot": {"value": ours, "rss": 5}, "other": {"value": theirs, "rss": 7}},
                        "probe": {**PROBE, "read_gbs": speed}}
                       for ours, theirs, speed in ((4000, 2000, 9.0), (6000, 2000, 10.0), (5000, 5000, 8.0))]}
    store.summarize(cell, case, FakeModel())
    summary = cell["summary"]
    assert summary["engines"]["Ingot"] == {"median": 5000, "min": 4000, "max": 6000, "rounds": 3, "peak_rss": 5}
    assert summary["ratios"]["other"] == {"median": 2, "min": 1, "max": 3}
    assert summary["share_of_limit"] == pytest.approx(5000 / (10e9 / 1_003_200))
    assert summary["share_of_own_limit"] == pytest.approx(6000 / (10e9 / 1_003_200))


def test_rounds_of_two_builds_are_not_mixed(tmp_path):
    compare = runpy.run_path(str(COMPARE))

    class Engine:
        name, calls = "Ingot", 0

        def refuses(self, case, model):
            return None

        def variants(self, case):
            return ["slow", "fast"]

        def measure(self, case, model, threads, variant):
            Engine.calls += 1
            return {"value": {"slow": 1.0, "fast": 2.0}[variant], "rss": 1}

    class Probe:
        def measure(self, *_):
            return PROBE

    class Arguments:
        rounds, retry, build_id = 2, False, "one"

    def fill():
        assert compare["fill"](cell, case, FakeModel(), 1, "vnni", [Engine()], Probe(), Arguments, data.save)

    data, case = store.Store(str(tmp_path / "x.json"), "machine", "today"), cases.parse("tg8")
    cell = data.cell(FakeModel(), "vnni", 1, case)
    fill()
    # Both variants in the first round, the better one after it.
    assert Engine.calls == 3 and cell["variants"] == {"Ingot": "fast"} and cell["summary"]["engines"]["Ingot"]["median"] == 2
    Arguments.build_id = "two"
    fill()
    assert Engine.calls == 3 and cell["build"] == "one"
    Arguments.rounds = 3
    fill()
    assert Engine.calls == 7 and cell["build"] == "two" and len(cell["rounds"]) == 3
    assert store.Store(str(tmp_path / "x.json"), "machine", "later").data["cells"] == data.data["cells"]


def test_failing_program_is_told():
    with pytest.raises(Failure, match="ended with 3: what is wrong"):
        run(["sh", "-c", "echo what is wrong >&2; exit 3"])
    with pytest.raises(Failure, match="not done after"):
        run(["sleep", "30"], limit=0.2)
    with pytest.raises(Failure, match="No such file"):
        run(["/nowhere/program"])


@pytest.fixture(scope="module")
def small_model(tmp_path_factory):
    path = tmp_path_factory.mktemp("compare") / "small.gguf"
    support.run(sys.executable, support.ROOT / "test/bench/synth", "--layers", "1", "smollm2-135m", "q4_1", path)
    return path


def compare(model, folder, *arguments, **keywords):
    return support.run(sys.executable, COMPARE, "--models", model, "--peers", "", "--build", support.BUILD, "--work",
                       folder / "work", "--json", folder / "out.json", "--markdown", folder / "out.md", "--threads", "1",
                       *arguments, **keywords)


def test_compare_goes_on_where_it_stopped(small_model, tmp_path):
    chosen = ["--cases", "pp16,tg4@d20,mix8+2,start,tg4/kv8"]
    compare(small_model, tmp_path, *chosen, "--rounds", "1")
    first = json.loads((tmp_path / "out.json").read_text())
    by_case = {cell["case"]: cell for cell in first["cells"].values()}
    assert list(by_case) == ["pp16", "tg4@d20", "mix8+2", "start", "tg4/kv8"]
    for name in ("pp16", "tg4@d20", "mix8+2", "tg4/kv8"):
        summary = by_case[name]["summary"]
        assert summary["engines"]["Ingot"]["median"] > 0 and summary["limit"] > 0 and summary["share_of_limit"] > 0
    assert by_case["start"]["unit"] == "ms" and by_case["start"]["summary"]["engines"]["Ingot"]["peak_rss"] > 1e6

    # Nothing is left to do; then one round more.
    compare(small_model, tmp_path, *chosen, "--rounds", "1")
    again = json.loads((tmp_path / "out.json").read_text())
    assert {key: cell["rounds"] for key, cell in again["cells"].items()} == \
        {key: cell["rounds"] for key, cell in first["cells"].items()}
    compare(small_model, tmp_path, "--cases", "pp16", "--rounds", "2")
    more = json.loads((tmp_path / "out.json").read_text())
    cell = next(cell for cell in more["cells"].values() if cell["case"] == "pp16")
    assert len(cell["rounds"]) == 2 and cell["rounds"][0] == by_case["pp16"]["rounds"][0]

    text = (tmp_path / "out.md").read_text()
    assert "| small.gguf |" in text and "Mixed steps" in text
    page = support.run(sys.executable, DASHBOARD, tmp_path / "out.json").out
    assert page.startswith("# Dashboard\n") and "### small.gguf" in page and "█" in page
    assert f"Cells: {sum('summary' in cell for cell in more['cells'].values())}." in page


@pytest.mark.parametrize("arguments, word", [
    (["--models", "nowhere.gguf"], "nowhere.gguf"), (["--models", "synth:gpt9:q4_0"], "gpt9"),
    (["--models", "synth:x"], "synth:PRESET:FORMAT"), (["--models", "x", "--cases", "pp"], "pp"),
    (["--models", "x", "--peers", "vllm"], "vllm"), (["--models", "x", "--threads", "0"], "--threads"),
    (["--models", "x", "--isa", "sse"], "sse"), ([], "--models"), (["--models", "x", "--build", "/nowhere"], "/nowhere"),
])
def test_compare_refuses(arguments, word, tmp_path):
    shared = [] if "--build" in arguments else ["--build", support.BUILD]
    done = support.run(sys.executable, COMPARE, *arguments, *shared, "--work", tmp_path, check=False)
    assert done.status in (1, 2) and word in done.err and "Traceback" not in done.err, str(done)


def test_not_a_model(tmp_path):
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + bytes(4))
    done = support.run(sys.executable, COMPARE, "--models", path, "--build", support.BUILD, "--work", tmp_path,
                       "--peers", "", check=False)
    assert done.status == 1 and "broken.gguf" in done.err and "Traceback" not in done.err, str(done)


def test_files_of_others_are_refused(tmp_path, small_model):
    (tmp_path / "out.json").write_text('{"machine": "x"}')
    done = compare(small_model, tmp_path, "--cases", "pp16", check=False)
    assert done.status == 1 and "is not a file of this script" in done.err
    for text in ("{", "[]", '{"format": 1}'):
        (tmp_path / "board.json").write_text(text)
        done = support.run(sys.executable, DASHBOARD, tmp_path / "board.json", check=False)
        assert done.status == 1 and "board.json" in done.err and "Traceback" not in done.err, str(done)


def test_dashboard_names_what_is_behind():
    def cell(name, ratio):
        engines = {who: {"median": value, "min": value, "max": value, "rounds": 5, "peak_rss": 1}
                   for who, value in (("Ingot", 100.0 * ratio), ("other", 100.0))}
        return {"model": "m", "isa": "vnni", "threads": 1, "case": name, "unit": "tokens/s", "absent": {}, "variants": {},
                "summary": {"engines": engines, "ratios": {"other": {"median": ratio, "min": ratio, "max": ratio}}}}

    cells = [cell("pp512", 2.0), cell("tg128", 0.9)]
    won, lost, alone = board.standing(cells)
    assert won == 1 and alone == 0 and [(item[0]["case"], item[1]) for item in lost] == [("tg128", "other")]
    assert any("| other | m, vnni, 1 thread(s), tg128 | 0.90" in line for line in board.standing_lines(cells))
    assert board.bar(0.5) == "`" + "█" * 10 + "·" * 10 + "`" and board.bar(3).count("█") == 20
    assert "**2.00**" in "\n".join(table.speed({"cells": {"a": cells[0]}}))


def test_dashboard_page_is_made_from_the_recorded_tables():
    files = sorted((support.ROOT / "test/bench/results").glob("*.json"))
    assert files
    page = support.run(sys.executable, DASHBOARD, *files).out
    assert (support.ROOT / "docs/dashboard.md").read_text() == page
