"""Rules of the source tree that no compiler checks.

Each rule is a function that yields faults as `path:line: what`. `--json` prints {rule: [faults]}.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# Folder -> folders it may include besides itself. Everything may include compiler/support, which includes LLVM only.
MAY_INCLUDE = {
    "dialects": [],
    # The tokenizer's binary form is an interface that the importer writes and the runtime reads.
    "compiler/import": ["runtime/abi"],
    "compiler/arch": ["compiler/import", "dialects"],
    "compiler/transforms": ["dialects"],
    "codegen": ["dialects", "runtime/abi"],
    "compiler/pipeline": ["compiler/arch", "compiler/import", "compiler/transforms", "codegen", "dialects",
                          "runtime/abi"],
    "compiler/api": ["compiler/pipeline", "runtime"],
    "compiler/tune": ["compiler/api", "compiler/pipeline", "runtime"],
    "compiler/driver": ["compiler/api", "compiler/tune", "runtime"],
    "compiler/tools": ["compiler/api", "compiler/pipeline", "compiler/arch", "compiler/import", "compiler/transforms",
                       "codegen", "dialects"],
    "compiler/support": [],
    "runtime": [],
}
LIBRARIES = {
    "mlir": ["dialects", "compiler/arch", "compiler/transforms", "codegen", "compiler/pipeline", "compiler/tools",
             "compiler/api"],
    "llvm": ["dialects", "compiler", "codegen"],
    "lld": ["codegen"],
    "CLI": ["runtime/main", "compiler/driver"],
}
SOURCE = {".cpp", ".h", ".c", ".td"}


def tracked():
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def sources():
    for path in tracked():
        if path.suffix in SOURCE:
            yield path, path.relative_to(ROOT).as_posix()


def area_of(name):
    for area in sorted(MAY_INCLUDE, key=len, reverse=True):
        if name.startswith(area + "/"):
            return area
    return None


def includes(path):
    for number, line in enumerate(path.read_text(errors="replace").split("\n"), 1):
        match = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
        if match:
            yield number, match.group(1)


def rule_include_directions():
    """Folders include only what the architecture allows."""
    for path, name in sources():
        area = area_of(name)
        if area is None:
            continue
        for number, target in includes(path):
            other = area_of(target)
            if other is not None and other not in (area, "compiler/support"):
                allowed = MAY_INCLUDE[area]
                if not any(target.startswith(folder + "/") for folder in allowed):
                    yield f"{name}:{number}: {area} may not include {target}"
            library = target.split("/")[0]
            if library in LIBRARIES and not any(name.startswith(folder + "/") for folder in LIBRARIES[library]):
                yield f"{name}:{number}: {area} may not include {library}"


def rule_file_length():
    """No source file has more than 900 lines."""
    for path, name in sources():
        lines = path.read_text(errors="replace").count("\n")
        if lines > 900:
            yield f"{name}:1: {lines} lines"


def rule_no_global_options():
    """No process-global options outside the tools."""
    for path, name in sources():
        if name.startswith(("compiler/tools/", "compiler/driver/", "test/")):
            continue
        for number, line in enumerate(path.read_text(errors="replace").split("\n"), 1):
            if re.search(r"\b(static|extern)\b.*\bcl::(opt|list)\b", line):
                yield f"{name}:{number}: global option"


def rule_unfinished_places():
    """No place is left for later without a name."""
    for path, name in sources():
        for number, line in enumerate(path.read_text(errors="replace").split("\n"), 1):
            if re.search(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b", line):
                yield f"{name}:{number}: {line.strip()[:80]}"


def rule_pass_has_test():
    """Every pass of a Passes.td has a lit file that runs it."""
    tests = "\n".join(p.read_text(errors="replace") for p in (ROOT / "test/lit").rglob("*.mlir"))
    for path, name in sources():
        if path.name == "Passes.td":
            for argument in re.findall(r'Pass<"([a-z0-9-]+)"', path.read_text()):
                if argument not in tests:
                    yield f"{name}:1: pass {argument} has no lit test"


def rule_doc_links():
    """Links and quoted paths of the hand-written documents lead somewhere."""
    folders = "compiler|codegen|dialects|runtime|test|examples|docs"
    for path in tracked():
        if path.suffix != ".md" or path.name in ("passes.md", "dialects.md") or "golden" in path.parts:
            continue
        name = path.relative_to(ROOT).as_posix()
        for number, line in enumerate(path.read_text().split("\n"), 1):
            for link in re.findall(r"\]\(([^)#]+)", line):
                if "://" not in link and not (path.parent / link).exists():
                    yield f"{name}:{number}: no {link}"
            for quoted in re.findall(rf"`((?:{folders})/[\w/.-]+)`", line):
                if not (ROOT / quoted).exists():
                    yield f"{name}:{number}: no {quoted}"


def rule_format():
    """clang-format leaves every file as it is."""
    tool = "clang-format-22"
    files = [str(p) for p, _ in sources() if p.suffix in {".cpp", ".h", ".c"}]
    try:
        result = subprocess.run([tool, "--dry-run", "-Werror", *files], capture_output=True, text=True, cwd=ROOT)
    except FileNotFoundError:
        yield f"{tool} is not installed"
        return
    for line in result.stderr.split("\n"):
        if "error: code should be clang-formatted" in line:
            yield line.replace(str(ROOT) + "/", "").split(" error:")[0]


def main():
    rules = {name[5:]: function for name, function in globals().items() if name.startswith("rule_")}
    report = {name: list(function()) for name, function in rules.items()}
    if "--json" in sys.argv:
        print(json.dumps(report))
    else:
        for name, faults in report.items():
            print(f"{name}: {'ok' if not faults else len(faults)}")
            for fault in faults[:40]:
                print(f"  {fault}")
    return 1 if any(report.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
