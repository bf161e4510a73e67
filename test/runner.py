"""Runs the test suites of a build and adds their counts up.

Suites: lint (rules of the source tree), unit (GoogleTest executables), lit (FileCheck tests), e2e (pytest, the
`ingot` command on models). Each reports passed, failed and skipped; failures are printed at the end. A suite that
hangs, crashes or cannot start is a failure, and the last line is the count in any case.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Seconds for one program; generous, since sanitizers and busy machines make everything several times slower.
LIMITS = {"lint": 300, "unit": 900, "lit": 1200, "e2e": 2700}


def run(command, limit, **keywords):
    """(exit status, output) of a program; one that takes too long is ended, with its children."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   start_new_session=True, **keywords)
        late = False
        try:
            process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            late = True
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        text = output.read().decode(errors="replace")
    if late:
        text += f"\nended after {limit} seconds"
    return process.returncode, text


class Totals:
    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []


def run_lint(args, totals):
    status, text = run([sys.executable, str(ROOT / "test/lint/lint.py"), "--json"], LIMITS["lint"])
    try:
        report = json.loads(text)
    except ValueError:
        totals.failed.append(("lint", f"exit {status}\n{text}"))
        return
    for rule, faults in report.items():
        if faults:
            totals.failed.append((f"lint: {rule}", "\n".join(faults)))
        else:
            totals.passed += 1


def run_executable(executable, pattern):
    """(suites of the report or None, exit status, output) of one GoogleTest executable."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [str(executable), f"--gtest_output=json:{report.name}", "--gtest_brief=1"]
        if pattern:
            command.append(f"--gtest_filter=*{pattern}*")
        status, text = run(command, LIMITS["unit"])
        try:
            return json.load(open(report.name))["testsuites"], status, text
        except (ValueError, KeyError):
            return None, status, text


def run_unit(args, totals):
    executables = sorted(p for p in (args.build / "bin").glob("unit_*") if os.access(p, os.X_OK))
    if not executables:
        totals.failed.append(("unit", f"no unit tests in {args.build}/bin"))
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        results = list(pool.map(lambda executable: run_executable(executable, args.k), executables))
    for executable, (suites, status, text) in zip(executables, results):
        if suites is None:
            totals.failed.append((executable.name, f"exit {status}\n{text}"))
            continue
        failed = False
        for suite in suites:
            for test in suite["testsuite"]:
                name = f"{executable.name}: {suite['name']}.{test['name']}"
                if test.get("failures"):
                    failed = True
                    totals.failed.append((name, "\n".join(f["failure"] for f in test["failures"])))
                elif test.get("result") == "SKIPPED" or test.get("status") == "NOTRUN":
                    totals.skipped.append(name)
                else:
                    totals.passed += 1
        if status != 0 and not failed:
            totals.failed.append((executable.name, f"exit {status}\n{text}"))


def run_lit(args, totals):
    folder = args.build / "test/lit"
    if not (folder / "lit.site.cfg.py").exists():
        totals.failed.append(("lit", f"no lit suite in {folder}"))
        return
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = ["/usr/lib/llvm-22/bin/lit", "-q", "-j2", "-o", report.name, str(folder)]
        if args.k:
            command += ["--filter", args.k, "--allow-empty-runs"]
        status, text = run(command, LIMITS["lit"])
        try:
            tests = json.load(open(report.name))["tests"]
        except (ValueError, KeyError):
            totals.failed.append(("lit", f"exit {status}\n{text}"))
            return
    for test in tests:
        if test["code"] in ("PASS", "XFAIL"):
            totals.passed += 1
        elif test["code"] in ("UNSUPPORTED", "SKIPPED"):
            totals.skipped.append(test["name"])
        else:
            totals.failed.append((test["name"], test["output"]))


def run_e2e(args, totals):
    environment = dict(os.environ, INGOT_BUILD=str(args.build), PYTHONDONTWRITEBYTECODE="1")
    with tempfile.NamedTemporaryFile(suffix=".xml") as report:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report.name}",
                   str(ROOT / "test/e2e")]
        if args.k:
            command += ["-k", args.k]
        status, text = run(command, LIMITS["e2e"], env=environment)
        try:
            cases = list(ElementTree.parse(report.name).iter("testcase"))
        except ElementTree.ParseError:
            totals.failed.append(("e2e", f"exit {status}\n{text}"))
            return
    for case in cases:
        name = f"{case.get('classname')}::{case.get('name')}"
        problem = case.find("failure") if case.find("failure") is not None else case.find("error")
        if problem is not None:
            totals.failed.append((name, problem.text or problem.get("message", "")))
        elif case.find("skipped") is not None:
            totals.skipped.append(f"{name}: {case.find('skipped').get('message', '')}")
        else:
            totals.passed += 1
    # 5: nothing was selected.
    if status not in (0, 1, 5):
        totals.failed.append(("e2e", f"exit {status}\n{text}"))


SUITES = {"lint": run_lint, "unit": run_unit, "lit": run_lit, "e2e": run_e2e}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--only", choices=list(SUITES))
    parser.add_argument("-k", help="run only tests whose name contains this")
    args = parser.parse_args()
    args.build = args.build.resolve()
    totals = Totals()
    for name, suite in SUITES.items():
        if args.only in (None, name):
            begin, before = time.time(), (totals.passed, len(totals.failed), len(totals.skipped))
            try:
                suite(args, totals)
            except Exception:
                totals.failed.append((name, traceback.format_exc()))
            print(f"{name}: {totals.passed - before[0]} passed, {len(totals.failed) - before[1]} failed, "
                  f"{len(totals.skipped) - before[2]} skipped, {time.time() - begin:.0f} s", flush=True)
    for name, text in totals.failed:
        print(f"\nFAILED {name}\n{text.strip()[-4000:]}")
    if totals.skipped:
        print(f"\nSkipped ({len(totals.skipped)}), the first of them:")
        for name in totals.skipped[:20]:
            print(f"  {name}")
        if not pathlib.Path(os.environ.get("INGOT_SHARED", "")).is_dir():
            print("  (the full references are not here: INGOT_SHARED names no folder; test/golden was used)")
    print(f"{totals.passed} passed, {len(totals.failed)} failed")
    return 1 if totals.failed or not totals.passed else 0


if __name__ == "__main__":
    sys.exit(main())
