"""llama.cpp, built from the sources of llama-cpp-python: its tools, and its numbers through peer_logits.cpp."""

import glob
import os
import platform
import shutil
import subprocess
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PEER = "llama-cpp-python==0.3.36"
AVX2 = ["-DGGML_NATIVE=OFF"] + [f"-DGGML_{flag}=ON" for flag in ("SSE42", "AVX", "AVX2", "FMA", "F16C", "BMI2")]
# What ggml's AVX512 switch leaves off: VBMI, VNNI, BF16 and AMX.
FLAGS = {"native": ["-DGGML_NATIVE=ON"], "avx2": AVX2, "avx512": AVX2 + ["-DGGML_AVX512=ON"]}


def say(text):
    print(text, file=sys.stderr, flush=True)


def machine():
    name = platform.machine()
    try:
        with open("/proc/cpuinfo") as f:
            name = next(line.split(":", 1)[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{name}, {len(os.sched_getaffinity(0))} cores"


def build(work, *targets, isa="native"):
    """Builds tools of llama.cpp in a folder below `work`; its build folder. Fetches the sources once."""
    folder = os.path.join(work, "peer" if isa == "native" else f"peer-{isa}")
    for tool in ("cmake", "ninja"):
        if not shutil.which(tool):
            sys.exit(f"{tool} is needed to build llama.cpp (or name a build of it)")
    if not glob.glob(os.path.join(work, "llama_cpp_python-*.tar.gz")):
        say(f"fetching the sources of {PEER}")
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:",
                        "-d", work, PEER], check=True)
    archive = sorted(glob.glob(os.path.join(work, "llama_cpp_python-*.tar.gz")))[-1]
    source = os.path.join(archive[:-len(".tar.gz")], "vendor", "llama.cpp")
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        with tarfile.open(archive) as tar:
            tar.extractall(work, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        subprocess.run(["cmake", "-S", source, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                        *FLAGS[isa], "-DBUILD_SHARED_LIBS=OFF", "-DLLAMA_CURL=OFF", "-DLLAMA_BUILD_SERVER=OFF",
                        "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF"],
                       check=True, stdout=subprocess.DEVNULL)
    say(f"building {', '.join(targets)} ({isa})")
    subprocess.run(["ninja", "-C", folder, "-j", str(len(os.sched_getaffinity(0))), *targets], check=True,
                   stdout=subprocess.DEVNULL)
    return folder


def source_of(folder):
    """The source folder of a build of llama.cpp."""
    try:
        with open(os.path.join(folder, "CMakeCache.txt")) as f:
            source = next(line.split("=", 1)[1].strip() for line in f if line.startswith("CMAKE_HOME_DIRECTORY"))
    except (OSError, StopIteration):
        sys.exit(f"{folder}: no build folder of CMake")
    if not os.path.exists(os.path.join(source, "include", "llama.h")):
        sys.exit(f"{folder}: built from {source}, which has no include/llama.h")
    return source


def driver(folder, work, program="peer_logits"):
    """A program of this folder, compiled with the headers and libraries of a built llama.cpp."""
    source, found, shared = source_of(folder), [], []
    # In the order that a linker of static libraries needs.
    for name in ("llama", "ggml", "ggml-cpu", "ggml-base"):
        hits = [h for end in ("a", "so") for h in
                sorted(glob.glob(os.path.join(folder, "**", f"lib{name}.{end}"), recursive=True))]
        if not hits:
            sys.exit(f"{folder}: no lib{name}.a or lib{name}.so in it")
        found.append(hits[0])
        if hits[0].endswith(".so"):
            shared.append(f"-Wl,-rpath,{os.path.dirname(os.path.abspath(hits[0]))}")
    output = os.path.join(work, program)
    compiler = os.environ.get("CXX") or shutil.which("c++")
    if not compiler:
        sys.exit(f"a C++ compiler is needed for {program}")
    done = subprocess.run([compiler, "-std=c++17", "-O2", "-I", os.path.join(source, "include"), "-I",
                           os.path.join(source, "ggml", "include"), os.path.join(HERE, f"{program}.cpp"), "-o", output,
                           *found, *shared, "-fopenmp", "-ldl", "-lpthread"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{program} does not compile against {folder}:\n{done.stderr[-3000:]}")
    return output


class Peer:
    """One model in llama.cpp. Logits are f32 [positions, vocabulary]."""

    def __init__(self, binary, model, threads, flash, work):
        import numpy
        self.numpy, self.file = numpy, os.path.join(work, "peer.f32")
        self.process = subprocess.Popen([binary, model, str(threads), flash], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        answer = self.answer().split()
        self.vocab, self.version = int(answer[0]), " ".join(answer[1:])

    def answer(self):
        line = self.process.stdout.readline()
        if not line.startswith("ok"):
            sys.exit(f"peer_logits ended with {self.process.wait()}")
        return line[2:].strip()

    def ask(self, *words):
        joined = [w if isinstance(w, str) else ",".join(map(str, w)) for w in words]
        self.process.stdin.write(" ".join(joined) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def logits(self, ids, positions):
        self.ask("logits", self.file, ids, positions)
        values = self.numpy.fromfile(self.file, "<f4").reshape(len(positions), self.vocab)
        os.unlink(self.file)
        return values

    def hidden(self, ids, width):
        self.ask("hidden", self.file, ids)
        values = self.numpy.fromfile(self.file, "<f4").reshape(-1, width)
        os.unlink(self.file)
        return values

    def greedy(self, ids, count):
        return [int(t) for t in self.ask("greedy", str(count), ids).split(",")]

    def close(self):
        self.process.stdin.close()
        self.process.wait()
