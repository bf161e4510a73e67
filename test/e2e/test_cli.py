"""The command line: suggestions, exit codes, the terminal, and what failure leaves behind."""

import json
import os
import pty
import resource
import select
import signal
import subprocess
import time

import pytest

import conftest
import support


@pytest.mark.parametrize("arguments, hint", [
    (["run", "m", "--tmep", "0"], "--temp"), (["run", "m", "--max-token", "5"], "--max-tokens"),
    (["compile", "m", "-o", "x", "--taget=all"], "--target"), (["comple", "m"], "compile"),
    (["batch", "m", "r", "-o", "x", "--kv-page", "3"], "--kv-pages"), (["verfy", "m"], "verify"),
    (["eval", "m", "--perplexty", "f"], "--perplexity"),
])
def test_suggestion(arguments, hint):
    result = support.ingot(*arguments, check=False)
    assert result.status == 2 and f"Did you mean {hint}?" in result.err, str(result)
    assert not result.out


def test_suggestion_of_a_binary(tiny_binary):
    result = support.run(tiny_binary, "run", "-p", "x", "--sed", "4", check=False)
    assert result.status == 2 and "Did you mean --seed?" in result.err


@pytest.mark.parametrize("arguments", [
    [], ["run"], ["run", "m", "-t", "0"], ["run", "m", "-t", "many"], ["compile", "m"], ["run", "m", "--top-p", "2"],
    ["compile", "m", "-o", "x", "--emit=dll"], ["verify", "m"], ["verify", "m", "--ids", "f"], ["eval", "m"],
    ["run", "m", "-p", "a", "-f", "b"],
])
def test_wrong_usage(arguments):
    result = support.ingot(*arguments, check=False)
    assert result.status == 2 and result.err and not result.out, str(result)


@pytest.mark.parametrize("arguments, word", [
    (["run", "/nowhere/model.gguf", "-p", "x"], "/nowhere/model.gguf"),
    (["compile", "/nowhere", "-o", "x"], "/nowhere"),
    (["inspect", "/dev/null"], "/dev/null"),
    (["verify", "/dev/null", "--reference", "/nowhere"], "/nowhere"),
])
def test_error(arguments, word):
    result = support.ingot(*arguments, check=False)
    assert result.status == 1 and word in result.err and result.err.startswith("error"), str(result)


def test_target_names(tiny, scratch):
    result = support.ingot("compile", tiny, "-o", scratch / "x", "--target=avx3", check=False)
    assert result.status in (1, 2) and "avx3" in result.err and "avx2" in result.err


def test_version_and_help():
    assert "0.1" in support.ingot("--version").out
    assert "Exit status" in support.ingot("--help").out
    assert "--stop-after" in support.ingot("compile", "--help").out


def test_input_from_files(tiny_binary, scratch):
    (scratch / "text").write_text("some words")
    arguments = ["-n", "6", "--temp", "0", "-q"]
    answers = [support.run(tiny_binary, "run", "-p", "some words", *arguments).out,
               support.run(tiny_binary, "run", "-f", scratch / "text", *arguments).out,
               support.run(tiny_binary, "run", "-", *arguments, input="some words").out]
    assert answers[0] == answers[1] == answers[2] != ""


def test_sampling_options(tiny_binary):
    def tokens(*arguments):
        result = support.run(tiny_binary, "run", "-p", "some words", "-n", "24", "--ignore-eos", "--json", *arguments)
        return json.loads(result.out)

    greedy = tokens("--temp", "0")
    assert tokens("--temp", "1", "--top-k", "1", "-s", "9")["tokens"] == greedy["tokens"]
    assert tokens("--temp", "1.5", "-s", "1")["tokens"] == tokens("--temp", "1.5", "-s", "1")["tokens"]
    assert tokens("--temp", "1.5", "-s", "1")["tokens"] != tokens("--temp", "1.5", "-s", "2")["tokens"]
    first = greedy["tokens"][0]
    assert first not in tokens("--temp", "0", "--logit-bias", f"{first}=-1000")["tokens"]
    stopped = tokens("--temp", "0", "--stop-id", greedy["tokens"][3])
    assert stopped["finish_reason"] == "stop" and len(stopped["tokens"]) <= 4
    logprobs = tokens("--temp", "0", "--logprobs", "3")["logprobs"]["content"]
    assert len(logprobs) == 24
    for entry, token in zip(logprobs, greedy["tokens"]):
        assert entry["id"] == token and len(entry["top_logprobs"]) == 3
        assert entry["top_logprobs"][0]["id"] == token and entry["logprob"] <= 0


def test_stop_string(tiny_binary):
    whole = json.loads(support.run(tiny_binary, "run", "-p", "some words", "-n", "40", "--temp", "0", "--ignore-eos",
                                   "--json").out)["text"]
    stop = whole[len(whole) // 2:len(whole) // 2 + 3]
    part = json.loads(support.run(tiny_binary, "run", "-p", "some words", "-n", "40", "--temp", "0", "--ignore-eos",
                                  "--json", "--stop", stop).out)
    assert part["text"] == whole[:whole.index(stop)] and part["finish_reason"] == "stop"


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, *command):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv(str(command[0]), list(map(str, command)))
        self.text = ""

    def read_until(self, condition, timeout=90):
        end = time.monotonic() + timeout
        while not condition(self.text) and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.2)[0]:
                try:
                    self.text += os.read(self.fd, 4096).decode(errors="replace")
                except OSError:
                    break
        assert condition(self.text), self.text[-3000:]

    def send(self, text):
        os.write(self.fd, text.encode())

    def wait(self, timeout=60):
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.text += os.read(self.fd, 4096).decode(errors="replace")
                except OSError:
                    pass
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise AssertionError("the program did not end\n" + self.text[-3000:])


def test_chat_on_a_terminal(smollm2):
    """Ctrl-C stops the answer and not the program; Ctrl-D ends it."""
    terminal = Terminal(smollm2.compiled()[0], "chat", "--temp", "0", "--ignore-eos", "-n", "3000")
    terminal.read_until(lambda text: "> " in text)
    terminal.send("Write a very long story.\n")
    terminal.read_until(lambda text: "story." in text and len(text.split("story.")[-1]) > 60)
    terminal.send("\x03")
    terminal.read_until(lambda text: "cancelled" in text)
    before = len(terminal.text)
    terminal.send("/undo\n")
    terminal.read_until(lambda text: "> " in text[before:])
    terminal.send("\x03")
    terminal.read_until(lambda text: "ends" in text[before:])
    terminal.send("\x04")
    assert terminal.wait() == 0


def test_chat_from_a_pipe(smollm2, scratch):
    """Each answer is the completion of the rendered conversation so far."""
    binary, questions = smollm2.compiled()[0], ["Name three colours.", "And three animals?"]
    result = support.run(binary, "chat", "--temp", "0", "-n", "10", "--json", "-q",
                         input="\n".join([*questions, "/exit"]) + "\n")
    answers = [json.loads(line) for line in result.out.strip().split("\n")]
    assert len(answers) == 2 and not result.err
    messages = []
    for question, answer in zip(questions, answers):
        messages.append({"role": "user", "content": question})
        support.write_json(scratch / "m.json", messages)
        (scratch / "text").write_text(support.run(binary, "template", scratch / "m.json").out)
        alone = json.loads(support.run(binary, "run", "-f", scratch / "text", "--special", "--temp", "0", "-n", "10",
                                       "--json").out)
        assert alone["tokens"] == answer["tokens"]
        messages.append({"role": "assistant", "content": answer["text"]})


def test_chat_from_a_pipe_tells_of_refused_questions(smollm2):
    """The others are answered all the same."""
    binary, long = smollm2.compiled()[0], "word " * 5000
    result = support.run(binary, "chat", "--temp", "0", "-n", "3", "--json", "-q", check=False,
                         input=f"One?\n{long}\nTwo?\n")
    assert result.status == 1 and len(result.out.strip().split("\n")) == 2 and "error:" in result.err, str(result)


def test_reader_that_goes_away(tiny_binary):
    """A closed pipe ends the program with an error and no signal."""
    process = subprocess.Popen([str(tiny_binary), "run", "-p", "a", "-n", "200", "--ignore-eos", "--temp", "1", "-q"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdout.close()
    assert 0 <= process.wait(timeout=60) <= 125


def children_of(pid):
    out = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout
    return [int(word) for word in out.split()]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_killed_compile_leaves_nothing(number, scratch):
    """No output, no half-written file, no process that goes on."""
    golden = conftest.GOLDEN / "gguf/gemma3.Q4_K_M.gguf"
    process = subprocess.Popen([support.INGOT, "compile", str(golden), "-o", str(scratch / "out")],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               # A shell starts what runs in its background with this signal ignored.
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    end, children = time.monotonic() + 30, []
    while not children and process.poll() is None and time.monotonic() < end:
        children = children_of(process.pid)
        time.sleep(0.02)
    assert children, "the compile was over before it could be stopped"
    process.send_signal(number)
    process.wait(timeout=60)
    assert process.returncode != 0
    assert not list(scratch.iterdir())
    time.sleep(0.5)
    for child in children:
        assert not os.path.exists(f"/proc/{child}") or "State:\tZ" in open(f"/proc/{child}/status").read()


def test_failed_compile_keeps_the_old_file(scratch):
    broken = scratch / "broken.gguf"
    broken.write_bytes((conftest.GOLDEN / "gguf/llama-mini.Q8_0.gguf").read_bytes()[:300_000])
    (scratch / "out").write_text("before")
    result = support.ingot("compile", broken, "-o", scratch / "out", check=False)
    assert result.status == 1 and (scratch / "out").read_text() == "before"
    assert sorted(p.name for p in scratch.iterdir()) == ["broken.gguf", "out"]


def test_file_that_cannot_grow(tiny, scratch):
    """Files cannot grow beyond a limit, as under a quota: writing fails, there is no signal."""

    def limits():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_500_000, 2_500_000))

    done = subprocess.run([support.INGOT, "compile", str(tiny), "-o", str(scratch / "out"), "--target=avx2"],
                          capture_output=True, text=True, preexec_fn=limits, restore_signals=False,
                          timeout=support.LIMIT, stdin=subprocess.DEVNULL)
    assert 1 <= done.returncode <= 125, done.stderr
    assert "out" in done.stderr and not list(scratch.iterdir()), done.stderr


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 200 KB, where this user may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("arguments", [["compile", "--emit=exe"], ["compile", "--emit=pack"],
                                       ["compile", "--stop-after=program"], ["verify"]])
def test_full_disk(arguments, tiny, small_disk, scratch):
    output = small_disk / "out"
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * 170_000)
    if arguments[0] == "verify":
        ids = support.write_json(scratch / "ids.json", list(range(100)))
        result = support.ingot("verify", tiny, "--ids", ids, "--dump", output, check=False)
    else:
        result = support.ingot(arguments[0], tiny, "-o", output, "--target=avx2", *arguments[1:], check=False)
    assert result.status == 1 and "out" in result.err, str(result)
    assert list(small_disk.iterdir()) == [filler]


def test_output_that_cannot_be_made(tiny):
    result = support.ingot("compile", tiny, "-o", "/nowhere/out", "--target=avx2", check=False)
    assert result.status == 1 and "/nowhere/out" in result.err
