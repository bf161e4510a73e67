"""The C program of examples/embed builds against the libraries and answers."""

import pytest

import support

FOLDER = support.ROOT / "examples/embed"


def test_embed(tiny_directory, scratch):
    if not (FOLDER / "CMakeLists.txt").exists():
        pytest.skip("examples/embed is not here")
    programs = [p for p in (support.BUILD / "bin").glob("embed*") if p.is_file()]
    if not programs:
        pytest.skip("the example is not built in this build folder")
    result = support.run(programs[0], tiny_directory, "hello")
    assert result.out.strip()
