"""The C programs of examples/embed build with a C compiler against the two libraries, and answer as `ingot` does."""

import json
import shutil

import pytest

import support

FOLDER = support.ROOT / "examples/embed"
LIB, INCLUDE = support.BUILD / "lib", support.BUILD / "include"
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang-22")
C99 = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]


@pytest.fixture(autouse=True)
def libraries():
    if support.SANITIZED:
        pytest.skip("a program of sanitized libraries has to be sanitized as well")
    if not COMPILER:
        pytest.skip("no C compiler is installed")
    assert (LIB / "libingot.so").exists() and (INCLUDE / "ingot/ingot.h").exists(), "the libraries are not built"


def expected(model, prompt):
    result = support.ingot("run", model, "-p", prompt, "-n", "32", "--temp", "0", "--json", "-q")
    return json.loads(result.out)["text"]


def test_compiler_in_the_program(scratch, tiny_directory):
    program = scratch / "embed"
    support.run(COMPILER, *C99, FOLDER / "main.c", "-I", INCLUDE, "-L", LIB, "-lingot", "-lingot_runtime",
                f"-Wl,-rpath,{LIB}", "-o", program)
    result = support.run(program, tiny_directory, "some words")
    assert result.out.rstrip("\n").startswith(expected(tiny_directory, "some words")[:16]), str(result)
    assert "cancel" in result.err, str(result)
    missing = support.run(program, "/nowhere", "x", check=False)
    assert missing.status not in (0, -6, -11) and "/nowhere" in missing.err


def test_compiled_model_in_the_program(scratch, tiny_directory):
    isa = support.VARIANTS[-1]
    for emit, name in (("obj", "model.o"), ("pack", "model.ipk")):
        support.ingot("compile", tiny_directory, "-o", scratch / name, f"--emit={emit}", f"--target={isa}")
    program = scratch / "linked"
    support.run(COMPILER, *C99, FOLDER / "linked.c", scratch / "model.o", "-I", INCLUDE, LIB / "libingot_runtime.a",
                "-lstdc++", "-lm", "-lpthread", "-o", program)
    result = support.run(program, scratch / "model.ipk", "some words")
    assert result.out.rstrip("\n") == expected(tiny_directory, "some words").rstrip("\n"), str(result)
    libraries = support.run("ldd", program).out
    assert "libingot" not in libraries and "LLVM" not in libraries
