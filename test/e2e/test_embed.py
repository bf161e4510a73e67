"""C programs that embed the compiler or a compiled model, built against a build's headers and libraries, and the
layout of an installed tree."""

import os
import shutil

import support

CC = shutil.which("cc") or "clang-22"
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
EMBED = support.ROOT / "examples/embed"
PROMPT = "Once upon a time"


def build_embed(include, lib, output):
    support.run(CC, *FLAGS, EMBED / "main.c", "-I", include, "-L", lib, "-lingot", "-lingot_runtime",
                f"-Wl,-rpath,{lib}", "-o", output)
    return output


def greedy(model):
    return support.ingot("run", model, "-p", PROMPT, "-n", "32", "--temp", "0", "-q").out.strip()


def test_compiler_in_a_c_program(tiny, scratch):
    program = build_embed(support.BUILD / "include", support.BUILD / "lib", scratch / "embed")
    result = support.run(program, tiny, PROMPT)
    assert result.out.strip() == greedy(tiny) != ""
    assert "second: cancelled after 3 tokens" in result.err
    failed = support.run(program, scratch / "none.gguf", "x", check=False)
    assert failed.status == 1 and "none.gguf" in failed.err and failed.out == ""


def test_compiled_model_linked_into_a_c_program(tiny, scratch):
    target = f"--target={support.VARIANTS[-1]}"
    support.ingot("compile", tiny, target, "--emit=obj", "-o", scratch / "model.o")
    support.ingot("compile", tiny, target, "--emit=pack", "-o", scratch / "model.ipk")
    support.run(CC, *FLAGS, EMBED / "linked.c", scratch / "model.o", "-I", support.BUILD / "include",
                support.BUILD / "lib/libingot_runtime.a", "-lstdc++", "-lm", "-lpthread", "-o", scratch / "linked")
    assert support.run(scratch / "linked", scratch / "model.ipk", PROMPT).out.strip() == greedy(tiny)


def exported(library):
    lines = [line.split() for line in support.run("nm", "-D", "--defined-only", library).out.splitlines()]
    return {words[-1] for words in lines if words}


def test_installed_tree(tiny, scratch):
    tree, moved = scratch / "tree", scratch / "moved here"
    support.run("cmake", "--install", support.BUILD, "--prefix", tree)
    tree.rename(moved)  # it works from wherever it lies
    support.run(moved / "bin/ingot", "compile", tiny, "-o", scratch / "model", "--target=native")
    answer = support.run(scratch / "model", "run", "-p", PROMPT, "-n", "32", "--temp", "0", "-q")
    assert answer.out.strip() == greedy(tiny)
    program = build_embed(moved / "include", moved / "lib", scratch / "embed")
    assert support.run(program, tiny, PROMPT).out.strip() == answer.out.strip()
    for library, prefix in (("libingot.so", "ingot_"), ("libingot_runtime.so", "ingot_rt_")):
        names = exported(moved / "lib" / library)
        assert names and all(name.startswith(prefix) for name in names), names
    for name in ("ingot.h", "ingot_runtime.h", "ingot_abi.h"):
        assert os.access(moved / "include/ingot" / name, os.R_OK)
