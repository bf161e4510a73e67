"""Runs the test suites of a build and adds their counts up.

Suites: lint (rules of the source tree), unit (GoogleTest executables), lit (FileCheck tests), e2e (pytest, the
`ingot` command on models). Each reports passed, failed and skipped; failures are printed at the end.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Totals:
    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []


def run_lint(args, totals):
    result = subprocess.run([sys.executable, str(ROOT / "test/lint/lint.py"), "--json"], capture_output=True, text=True)
    try:
        report = json.loads(result.stdout)
    except ValueError:
        totals.failed.append(("lint", result.stdout + result.stderr))
        return
    for rule, faults in report.items():
        if faults:
            totals.failed.append((f"lint: {rule}", "\n".join(faults)))
        else:
            totals.passed += 1


def run_unit(args, totals):
    executables = sorted(p for p in (args.build / "bin").glob("unit_*") if os.access(p, os.X_OK))
    if not executables:
        totals.failed.append(("unit", f"no unit tests in {args.build}/bin"))
    for executable in executables:
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            command = [str(executable), f"--gtest_output=json:{report.name}", "--gtest_brief=1"]
            if args.k:
                command.append(f"--gtest_filter=*{args.k}*")
            result = subprocess.run(command, capture_output=True, text=True, errors="replace")
            try:
                suites = json.load(open(report.name))["testsuites"]
            except (ValueError, KeyError):
                totals.failed.append((executable.name, f"exit {result.returncode}\n{result.stdout}{result.stderr}"))
                continue
        for suite in suites:
            for test in suite["testsuite"]:
                name = f"{executable.name}: {suite['name']}.{test['name']}"
                if test.get("failures"):
                    totals.failed.append((name, "\n".join(f["failure"] for f in test["failures"])))
                elif test.get("result") == "SKIPPED" or test.get("status") == "NOTRUN":
                    totals.skipped.append(name)
                else:
                    totals.passed += 1
        if result.returncode != 0 and not any(t[0].startswith(executable.name) for t in totals.failed):
            totals.failed.append((executable.name, f"exit {result.returncode}\n{result.stdout}{result.stderr}"))


def run_lit(args, totals):
    folder = args.build / "test/lit"
    if not (folder / "lit.site.cfg.py").exists():
        totals.failed.append(("lit", f"no lit suite in {folder}"))
        return
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = ["/usr/lib/llvm-22/bin/lit", "-q", "-j2", "-o", report.name, str(folder)]
        if args.k:
            command += ["--filter", args.k]
        subprocess.run(command, capture_output=True, text=True)
        try:
            tests = json.load(open(report.name))["tests"]
        except (ValueError, KeyError):
            totals.failed.append(("lit", "the suite did not run"))
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
        result = subprocess.run(command, capture_output=True, text=True, env=environment)
        try:
            cases = list(ElementTree.parse(report.name).iter("testcase"))
        except ElementTree.ParseError:
            totals.failed.append(("e2e", result.stdout + result.stderr))
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
            suite(args, totals)
            print(f"{name}: {totals.passed - before[0]} passed, {len(totals.failed) - before[1]} failed, "
                  f"{len(totals.skipped) - before[2]} skipped, {time.time() - begin:.0f} s", flush=True)
    for name, text in totals.failed:
        print(f"\nFAILED {name}\n{text.strip()[-4000:]}")
    if totals.skipped:
        print(f"\nSkipped ({len(totals.skipped)}), the first of them:")
        for name in totals.skipped[:20]:
            print(f"  {name}")
        if not pathlib.Path(os.environ.get("INGOT_SHARED", "")).is_dir():
            print("  (the full references are not here: INGOT_SHARED names no folder)")
    print(f"{totals.passed} passed, {len(totals.failed)} failed")
    return 1 if totals.failed or not totals.passed else 0


if __name__ == "__main__":
    sys.exit(main())
