"""ingot tune: the profile replays, changes no bit, and a second run goes on where the first ended. Nothing here
depends on which schedule was the faster one."""

import json
import re
import signal
import subprocess

import pytest

import support

ISA = support.VARIANTS[-1]
TUNE = ("--seconds", "0.2", "-t", "1", f"--isa={ISA}", "-q")


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """A profile of the small model, and what making it printed."""
    import conftest

    profile = tmp_path_factory.mktemp("tune") / "llama.tune"
    result = support.ingot("tune", conftest.GOLDEN / "gguf/llama-mini.Q8_0.gguf", "-o", profile, *TUNE)
    return profile, result.out


def entries(profile):
    return [[part.strip() for part in line.split("|")] for line in profile.read_text().split("\n")[1:] if line]


def other_schedules(profile, path):
    """A profile with schedules that are not the model's choice wherever the registry has an obvious other one."""
    text = []
    for line in profile.read_text().split("\n"):
        key, *rest = line.split(" | ")
        if rest and key.startswith("linear"):
            fields = dict(field.split("=") for field in rest[0].split())
            fields["prefetch"] = "4096" if fields["prefetch"] != "4096" else "0"
            if fields["dot"] == "vnni":
                fields["dot"] = "maddubs"
            rest[0] = " ".join(f"{name}={value}" for name, value in fields.items())
        elif rest and key.startswith("attention"):
            continue
        text.append(" | ".join([key, *rest]))
    path.write_text("\n".join(text))
    return path


def kernels(path, *options):
    described = json.loads(support.ingot("explain", path, "--json", f"--target={ISA}", *options).out)
    return next(v for v in described["variants"] if v["isa"] == ISA)["kernels"] if "variants" in described else [
        k for v in described for k in v["kernels"]]


def test_profile(tuned, tiny):
    profile, out = tuned
    assert profile.read_text().startswith("ingot-tune 1 kernels ")
    found = entries(profile)
    assert all(len(entry) == 3 for entry in found)
    # Every class of rows, the head among them, and attention over prompts.
    assert {field for entry in found for field in entry[0].split() if field.startswith("rows=")} == {
        "rows=0", "rows=1", "rows=2", "rows=4", "rows=8"}
    assert any(entry[0].startswith("attention ") for entry in found)
    assert sum("domain=out" in entry[0] for entry in found) == 5
    assert [line.split(":")[0] for line in out.split("\n") if line[:1].strip()][:4] == ["1 row", "2 rows", "4 rows", "8 rows"]
    assert "\nprompts of " in out
    assert str(support.ROOT) not in profile.read_text() and str(tiny) not in profile.read_text()


def test_resume(tuned, tiny, scratch):
    profile, _ = tuned
    lines = profile.read_text().split("\n")
    # Without two kernels: of one row, and of prompts.
    gone = [next(line for line in lines if " rows=1 " in line), next(line for line in lines if " rows=0 " in line)]
    part = scratch / "part.tune"
    part.write_text("\n".join(line for line in lines if line not in gone))
    out = support.ingot("tune", tiny, "-o", part, *TUNE).out
    assert "1 row: 1 kernels" in out and re.search(r"prompts of \d+: 1 kernels", out)
    assert "2 rows: nothing to time that" in out and "4 rows: nothing" in out and "8 rows: nothing" in out
    kept = [line for line in lines if line and line not in gone]
    again = part.read_text().split("\n")
    assert again[:len(kept)] == kept
    assert {line.split(" | ")[0] for line in again} == {line.split(" | ")[0] for line in lines}
    whole = part.read_bytes()
    out = support.ingot("tune", tiny, "-o", part, *TUNE).out
    assert out.count("nothing to time") == 5 and part.read_bytes() == whole


def test_interrupt(tiny, scratch):
    profile = scratch / "i.tune"
    process = subprocess.Popen([support.INGOT, "tune", str(tiny), "-o", str(profile), "--seconds", "600", "-t", "1"],
                               stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    for line in process.stderr:
        if "timing schedules" in line:
            break
    process.send_signal(signal.SIGINT)
    err = process.stderr.read()
    assert process.wait(support.LIMIT) == 130 and "the same command goes on" in err
    assert not profile.exists()


def test_replay_changes_no_bit(tuned, tiny, scratch):
    profile, _ = tuned
    other = other_schedules(profile, scratch / "other.tune")
    options = ("--emit=pack", f"--target={ISA}")
    plain, replayed, again = (scratch / f"{name}.ipk" for name in ("plain", "replayed", "again"))
    support.ingot("compile", tiny, "-o", plain, *options)
    result = support.ingot("compile", tiny, "-o", replayed, *options, f"--tune={other}")
    assert "warning" not in result.err
    support.ingot("compile", tiny, "-o", again, *options, f"--tune={other}")
    assert replayed.read_bytes() == again.read_bytes() != plain.read_bytes()
    build = json.loads(support.ingot("inspect", replayed, "--json").out)["build"]
    assert " tune=" in build and " tune=" not in json.loads(support.ingot("inspect", plain, "--json").out)["build"]
    ids = scratch / "ids.json"
    ids.write_text(json.dumps([1 + 37 * i % 200 for i in range(61)]))
    dumps = []
    for name in (plain, replayed):
        dump = scratch / f"{name.stem}.safetensors"
        support.ingot("verify", name, "--ids", ids, "--dump", dump, "--hidden", "-t", "2")
        dumps.append(dump.read_bytes())
    assert dumps[0] == dumps[1]
    answers = [support.ingot("run", tiny, "-p", "the", "-n", "24", "--temp", "0", "--ignore-eos", f"--isa={ISA}", *more).out
               for more in ([], [f"--tune={other}"])]
    assert answers[0] == answers[1]


def test_explain_says_tuned(tuned, tiny):
    profile, _ = tuned
    text = support.ingot("explain", tiny, f"--target={ISA}", f"--tune={profile}").out
    assert text.count("tuned, ") >= len(entries(profile)) - 1
    assert "tuned, " not in support.ingot("explain", tiny, f"--target={ISA}").out


def test_stale_entries_are_counted(tuned, tiny, scratch):
    profile, _ = tuned
    stale = scratch / "stale.tune"
    stale.write_text(profile.read_text().replace("unroll=1", "unroll=77", 2).replace("unroll=4", "unroll=77", 2))
    assert "unroll=77" in stale.read_text()
    result = support.ingot("explain", tiny, f"--target={ISA}", f"--tune={stale}", "-q")
    assert "warning: " in result.err and "no longer apply" in result.err and "module {" not in result.err
    wrong = support.VARIANTS[0] if support.VARIANTS[0] != ISA else "amx"
    result = support.ingot("inspect", tiny, f"--target={wrong}", f"--tune={profile}", "-q")
    assert f"has no kernel of this model on {wrong}" in result.err


@pytest.mark.parametrize("text, what", [
    ("", "bad.tune:1: is empty"), ("GGUF\0", "bad.tune:1: "), ("ingot-tune 9 kernels 1\n", "format 9 is not known"),
    ("ingot-tune 1 kernels 1\nlinear isa=vnni rows=1 | dot=vnni\n", "bad.tune:2: is not 'KERNEL"),
    ("ingot-tune 1 kernels 1\n\nlinear isa=vnni rows=x | vector=64 | threads=1\n", "bad.tune:3: 'rows=x' is no number")])
def test_bad_profile(text, what, tiny, scratch):
    bad = scratch / "bad.tune"
    bad.write_text(text)
    for command in (["compile", tiny, "-o", scratch / "x"], ["run", tiny, "-p", "x", "-n", "1"], ["bench", tiny],
                    ["explain", tiny]):
        result = support.ingot(*command, f"--tune={bad}", check=False)
        assert result.status == 1 and "error: --tune: " in result.err and what in result.err, str(result)
    result = support.ingot("tune", tiny, "-o", bad, *TUNE, check=False)
    assert result.status == 1 and what in result.err and bad.read_text() == text
    assert not (scratch / "x").exists()


def test_usage(tiny, tiny_pack, tuned, scratch):
    profile, _ = tuned
    for command in (["tune", tiny_pack, "-o", scratch / "p"], ["tune", tiny, "-o", tiny], ["tune", tiny, "-o", scratch],
                    ["tune", tiny, "-o", "/dev/null", "-q"], ["tune", tiny, "-o", scratch / "p", "--isa=ref"],
                    ["tune", tiny, "-o", scratch / "p", "--isa=mmx"], ["tune", scratch / "none.gguf", "-o", scratch / "p"],
                    ["run", tiny, "-p", "x", "--kernels=ref", f"--tune={profile}"],
                    ["compile", tiny, "-o", profile, f"--tune={profile}", f"--target={ISA}"],
                    ["explain", tiny, f"--tune={scratch / 'none'}"]):
        result = support.ingot(*command, check=False)
        assert result.status == 1 and "error: " in result.err, str(result)
    for command in (["tune", tiny], ["tune", tiny, "-o", scratch / "p", "--seconds", "0"],
                    ["run", tiny_pack, "-p", "x", f"--tune={profile}"]):
        assert support.ingot(*command, check=False).status == 2
    assert not (scratch / "p").exists() and profile.read_text().startswith("ingot-tune 1")
