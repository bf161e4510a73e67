"""What a user can get wrong, and what must not happen then: a crash, a lost file, a wrong answer, silence."""

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import time

import pytest

import support


def refused(result, *words, status=1):
    assert result.status == status, str(result)
    for word in words:
        assert word in result.err, str(result)
    return result


def completion(**body):
    body = {"prompt": "hi", "max_tokens": 2, "temperature": 0, **body}
    return {"custom_id": "x", "method": "POST", "url": "/v1/completions", "body": body}


def chat(**body):
    body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 2, "temperature": 0, **body}
    return {"custom_id": "x", "method": "POST", "url": "/v1/chat/completions", "body": body}


# Outputs.

def special_files(folder):
    fifo, link = folder / "fifo", folder / "link"
    os.mkfifo(fifo)
    link.symlink_to("nowhere")
    return [fifo, link, folder, "/dev/null", "/dev/stdout"]


def test_outputs_that_are_no_files(tiny, tiny_binary, scratch):
    ids = support.write_json(scratch / "ids.json", [1, 2])
    requests = scratch / "requests.jsonl"
    requests.write_text(json.dumps(completion()))
    (scratch / "special").mkdir()
    for output in special_files(scratch / "special"):
        before = os.lstat(output).st_ino
        refused(support.ingot("compile", tiny, "-o", output, check=False), str(output))
        refused(support.run(tiny_binary, "batch", requests, "-o", output, check=False), str(output))
        refused(support.run(tiny_binary, "verify", "--ids", ids, "--dump", output, check=False), str(output))
        assert os.lstat(output).st_ino == before


def test_input_is_not_overwritten(tiny, tiny_directory, tiny_binary, scratch):
    model = scratch / "model.gguf"
    shutil.copy(tiny, model)
    (scratch / "link").symlink_to("model.gguf")
    for output in (model, scratch / "link", f"{scratch}/../{scratch.name}/model.gguf"):
        refused(support.ingot("compile", model, "-o", output, check=False), "input")
    assert model.read_bytes() == tiny.read_bytes()
    folder = scratch / "hf"
    shutil.copytree(tiny_directory, folder)
    for path in folder.iterdir():
        if path.suffix == ".safetensors" and path.name.startswith("model") or path.name == "config.json":
            refused(support.ingot("compile", folder, "-o", path, check=False), "input")
    requests = scratch / "requests.jsonl"
    requests.write_text(json.dumps(completion()))
    refused(support.run(tiny_binary, "batch", requests, "-o", requests, check=False), "input")
    ids = support.write_json(scratch / "ids.json", [1, 2])
    refused(support.run(tiny_binary, "verify", "--ids", ids, "--dump", ids, check=False), "input")


def test_output_through_a_link(tiny_binary, scratch):
    requests, answers, link = (scratch / name for name in ("requests.jsonl", "answers.jsonl", "link"))
    requests.write_text(json.dumps(completion()))
    answers.write_text("old")
    link.symlink_to("answers.jsonl")
    support.run(tiny_binary, "batch", requests, "-o", link, "-q")
    assert link.is_symlink() and json.loads(answers.read_text())["response"]["status_code"] == 200
    printed = support.run(tiny_binary, "batch", requests, "-o", "-", "-q").out
    assert printed == answers.read_text()


def test_wrong_output_is_told_before_the_work(tiny):
    result = refused(support.ingot("compile", tiny, "-o", "/nowhere/out", check=False), "/nowhere/out")
    assert "compiling" not in result.err


# Standard streams.

@pytest.mark.parametrize("arguments", [
    ["run", "-p", "a", "-n", "3"], ["info"], ["tokenize", "-p", "a"], ["detokenize", "5"], ["--help"],
    ["bench", "-p", "8", "-n", "0", "-r", "1"], ["explain"], ["hello", "-n", "2"],
])
def test_standard_output_is_full(arguments, tiny_binary):
    with open("/dev/full", "w") as full:
        done = subprocess.run([str(tiny_binary), *arguments], stdout=full, stderr=subprocess.PIPE, text=True,
                              stdin=subprocess.DEVNULL, timeout=support.LIMIT)
    assert done.returncode == 1 and "standard output" in done.stderr, done.stderr


def test_closed_streams(tiny_binary):
    def shell(text):
        return support.run("bash", "-c", text.format(tiny_binary), check=False)

    assert shell("{} run -p a -n 2 -q <&-").status == 0
    assert shell("{} run -p a -n 2 -q 2>&-").status == 0
    assert shell("{} run -p a -n 2 -q >&-").status == 1
    # The program's own file must not become its standard input.
    result = shell("{} chat -n 2 <&-")
    assert not result.out and "template" not in result.err, str(result)


def test_reader_that_goes_away_ends_the_answer(tiny_binary):
    result = support.run("bash", "-c", f"{tiny_binary} run -p a -n 200 --ignore-eos -q | head -c 1; exit ${{PIPESTATUS[0]}}",
                         check=False)
    assert result.status in (0, 1) and not result.err, str(result)


# Numbers.

@pytest.mark.parametrize("arguments, word", [
    (["--logit-bias", "4294967297=5"], "4294967297"), (["--logit-bias", "-1=5"], "-1"),
    (["--stop-id", "4294967298"], "4294967298"), (["--stop-id", "-1"], "-1"),
    (["--seed", "18446744073709551616"], "--seed"), (["--seed", "-1"], "--seed"),
    (["-n", "99999999999999999999"], "--max-tokens"), (["--temp", "nan"], "temperature"),
])
def test_numbers_that_do_not_fit(arguments, word, tiny_binary):
    result = support.run(tiny_binary, "run", "-p", "a", "-n", "2", *arguments, check=False) if "-n" not in arguments \
        else support.run(tiny_binary, "run", "-p", "a", *arguments, check=False)
    assert result.status in (1, 2) and word in result.err and not result.out, str(result)


def test_large_means_all(tiny_binary):
    """A limit beyond 32 bits is the limit that it says, not its low bits."""
    def text(*more):
        return support.run(tiny_binary, "run", "-p", "a", "-n", "8", "--temp", "1", "--seed", "3", "-q", *more).out

    assert text("--top-k", str(2**40 + 1)) == text("--top-k", str(2**20))
    assert text("--repeat-penalty", "2", "--repeat-last-n", str(2**32 + 1)) == \
        text("--repeat-penalty", "2", "--repeat-last-n", "-1")


@pytest.mark.parametrize("ids", ["[4294967297]", "[18446744073709551615]", "[-1]", "[1.5]", "[512345]", "{}", "[" * 10**5])
def test_ids_out_of_range(ids, tiny_binary, scratch):
    refused(support.run(tiny_binary, "detokenize", input=ids, check=False), "detokenize")
    file = scratch / "ids.json"
    file.write_text(ids)
    refused(support.run(tiny_binary, "verify", "--ids", file, "--dump", scratch / "out", check=False), "id")
    assert not (scratch / "out").exists()


@pytest.mark.parametrize("arguments", [["-p", "-1"], ["-n", "-1"], ["-p", "0", "-n", "0"], ["-t", "0"], ["-b", "0"],
                                       ["-d", "-1"], ["-t", "300"], ["--mix", "-1"],
                                       ["-p", "0", "-n", "0", "--mix", "0"]])
def test_bench_usage(arguments, tiny_binary):
    result = support.run(tiny_binary, "bench", *arguments, check=False)
    assert result.status == 2 and not result.out, str(result)


# What cannot be obeyed is told.

@pytest.mark.parametrize("option", [["--ctx", "64"], ["--kv", "f32"], ["--config", "other.json"]])
def test_options_of_compiling(option, tiny_pack, tiny_binary):
    for model in (tiny_pack, tiny_binary):
        refused(support.ingot("run", model, "-p", "a", *option, check=False), option[0], "compiled", status=2)


def test_reference_is_no_product(tiny, scratch):
    refused(support.ingot("compile", tiny, "-o", scratch / "out", "--target=ref", check=False), "--kernels=ref")
    refused(support.ingot("run", tiny, "-p", "a", "--isa=ref", check=False), "--kernels=ref")
    assert not list(scratch.iterdir())


def test_text_given_twice(tiny_binary, scratch):
    file = scratch / "text"
    file.write_text("[1]")
    refused(support.run(tiny_binary, "tokenize", "-p", "a", "-f", file, check=False), "once", status=2)
    refused(support.run(tiny_binary, "detokenize", "1", "-f", file, check=False), "once", status=2)


@pytest.mark.parametrize("request_, word", [
    (completion(stream=True), "stream"), (completion(echo=True), "echo"), (completion(best_of=2), "best_of"),
    (completion(suffix="x"), "suffix"), (completion(max_tokens=2**63), "max_tokens"),
    (completion(max_tokens=2**64 - 1), "max_tokens"), (completion(prompt=[2**32 + 1]), "prompt"),
    (completion(logit_bias={str(2**32 + 1): 5}), "logit_bias"), (completion(stop_token_ids=[2**32 + 2]), "stop_token_ids"),
    (completion(stop_token_ids=[-1]), "stop token"), (completion(logprobs=2**33), "logprobs"),
    ({**completion(), "custom_id": 5}, "custom_id"), (chat(response_format={"type": "json_object"}), "response_format"),
    (chat(tool_choice="required"), "tool_choice"), (chat(tools=5), "tools"), (chat(chat_template_kwargs=5), "kwargs"),
    (chat(top_logprobs=2), "logprobs"), (chat(messages=[{}]), "role"), (chat(messages=[{"role": "user"}]), "content"),
    (chat(messages=[{"role": "user", "content": 5}]), "content"),
    (chat(messages=[{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}]), "text"),
])
def test_request_is_refused(request_, word, tiny_binary, scratch):
    requests = scratch / "requests.jsonl"
    requests.write_text("\n".join(map(json.dumps, [completion(), request_, completion(seed=2**64 - 1)])))
    out = support.run(tiny_binary, "batch", requests, "-o", "-", "-q").out
    first, second, third = (json.loads(line)["response"] for line in out.splitlines())
    assert first["status_code"] == third["status_code"] == 200, out
    assert second["status_code"] == 400 and word in second["body"]["error"]["message"], out


@pytest.mark.parametrize("item, word", [
    ({"context": "a", "endings": ["b"], "answer": "x"}, "answer"), ({"context": "a", "endings": ["b"]}, "answer"),
    ({"context": "a", "endings": ["b"], "answer": 1}, "answer"), ({"context": "a", "endings": [], "answer": 0}, "answer"),
    ({"context_ids": [1], "ending_ids": [[99999]], "answer": 0}, "99999"), (5, "item 0"),
])
def test_choices(item, word, tiny_binary, scratch):
    file = support.write_json(scratch / "items.json", [item])
    refused(support.run(tiny_binary, "eval", "--choices", file, check=False), "items.json", word)


def test_perplexity_of_nothing(tiny_binary, scratch):
    file = scratch / "text"
    file.write_text("hello world " * 10)
    result = support.run(tiny_binary, "eval", "--perplexity", file, "--ctx", "2", check=False)
    assert result.status == 2 and "nan" not in result.out
    assert "nan" not in support.run(tiny_binary, "eval", "--perplexity", file, "--ctx", "3").out


def test_malformed_references(tiny_binary, tiny_directory, scratch):
    """Members that are absent or of another kind are an error with the file's name."""
    golden = json.loads((tiny_directory / "golden.json").read_text())
    shutil.copy(tiny_directory / "golden.safetensors", scratch)
    file = scratch / "golden.json"
    assert "accuracy" in golden
    for key in list(golden):
        for value in (None, 5, "x", [], {}):
            if isinstance(golden[key], (dict, list)):
                support.write_json(file, {**golden, key: value})
                result = support.run(tiny_binary, "verify", "--reference", scratch, check=False)
                assert result.status in (0, 1, 3), str(result)
                assert result.status != 1 or result.err.startswith("error: "), str(result)
    for key in golden["prompt_a"]:
        support.write_json(file, {**golden, "prompt_a": {**golden["prompt_a"], key: {"x": 1}}})
        result = support.run(tiny_binary, "verify", "--reference", scratch, check=False)
        assert result.status in (0, 1, 3), str(result)


def test_interrupted_batch(smollm2, scratch):
    """Requests that are on the way end with the program, in order and without a file."""
    binary, _ = smollm2.compiled()
    requests = scratch / "requests.jsonl"
    requests.write_text("\n".join([json.dumps(completion(max_tokens=3000, ignore_eos=True))] * 8))
    process = subprocess.Popen([str(binary), "batch", str(requests), "-o", str(scratch / "out")], text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=60)
    assert process.returncode == 130 and "interrupted" in message, (process.returncode, message)
    assert list(scratch.iterdir()) == [requests]


# Models that are none.

def test_pipe_as_model(scratch):
    fifo = scratch / "model.gguf"
    os.mkfifo(fifo)
    for arguments in (["run", fifo, "-p", "a"], ["inspect", fifo], ["tokenize", fifo, "-p", "a"]):
        refused(support.ingot(*arguments, check=False, timeout=20), "model.gguf")
    pack = scratch / "model.ipk"
    os.mkfifo(pack)
    refused(support.ingot("run", pack, "-p", "a", check=False, timeout=20), "model.ipk")


def test_messages_name_the_program(tiny_binary, scratch):
    broken = scratch / "broken"
    data = bytearray(tiny_binary.read_bytes())
    data[-20] ^= 1
    broken.write_bytes(data)
    broken.chmod(0o755)
    result = refused(support.run(broken, "run", "-p", "a", check=False), str(broken))
    assert "/proc/self" not in result.err


# IR that was edited, or belongs to something else.

@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    import conftest
    folder = tmp_path_factory.mktemp("ir")
    for phase in ("import", "kernel", "program"):
        support.ingot("compile", conftest.GOLDEN / "models/llama", "-o", folder / phase, f"--stop-after={phase}",
                      f"--target={support.VARIANTS[0]}", "-q")
    return {path.name: path.read_text() for path in folder.iterdir()}


def resume(model, text, phase, scratch, *more):
    file = scratch / "text.mlir"
    file.write_text(text)
    target = [] if more else [f"--target={support.VARIANTS[0]}"]
    result = support.ingot("compile", model, "-o", scratch / "out", "--emit=pack", f"--start-from={phase}", "--ir", file,
                           "-q", *target, *more, check=False)
    assert not (scratch / "out").exists(), str(result)
    return result


def test_text_of_another_phase(texts, tiny_directory, scratch):
    for name, phase in (("import", "target"), ("kernel", "target"), ("import", "program"), ("program", "model")):
        refused(resume(tiny_directory, texts[name], phase, scratch))
    for text in ("", "module {}"):
        for phase in ("model", "shape", "kernel", "program", "target"):
            refused(resume(tiny_directory, text, phase, scratch), "text.mlir")
    result = resume(tiny_directory, texts["import"], "import", scratch)
    refused(result, "import")


def test_text_of_another_model(texts, golden, scratch):
    refused(resume(golden / "models/qwen2", texts["program"], "target", scratch), "tensor")
    refused(resume(golden / "models/qwen2", texts["import"], "model", scratch), "tensor")


def test_text_of_another_target(texts, tiny_directory, scratch):
    others = [v for v in ("avx2", "avx512", "vnni") if v != support.VARIANTS[0]]
    refused(resume(tiny_directory, texts["program"], "target", scratch, f"--target={others[0]}"), others[0])


def test_edited_text(texts, tiny_directory, scratch):
    offset = re.search(r"#llm\.ext<0, (\d+),", texts["import"])
    text = texts["import"]
    text = text[:offset.start(1)] + str(int(offset.group(1)) + 4) + text[offset.end(1):]
    refused(resume(tiny_directory, text, "model", scratch), "tensor")
    buffer = re.search(r"rt\.buffer arena (\d+) at", texts["program"])
    text = texts["program"]
    text = text[:buffer.start(1)] + "1" + text[buffer.end(1):]
    refused(resume(tiny_directory, text, "target", scratch), "buffer")


def test_text_without_end(tiny_directory, scratch):
    for path in ("/dev/zero", scratch):
        refused(support.ingot("compile", tiny_directory, "-o", scratch / "out", "--start-from=model", "--ir", path,
                              check=False), str(path))


def test_names_with_odd_bytes(tiny, scratch):
    folder = os.fsencode(scratch) + b"/a b\xff"
    os.mkdir(folder)
    model, output = folder + b"/m \xc3\xa9.gguf", folder + b"/out"
    shutil.copy(tiny, model)
    for command in ([support.INGOT, "compile", model, "-o", output, "-q"], [output, "run", "-p", "a", "-n", "2", "-q"]):
        done = subprocess.run(command, capture_output=True, timeout=support.LIMIT)
        assert done.returncode == 0, done.stderr
    assert stat.S_IMODE(os.stat(output).st_mode) & 0o100


def test_damaged_weights_are_named(tiny, scratch):
    """One flipped bit among the weights is found by `verify --weights`, which names file and tensor."""
    pack = scratch / "model.ipk"
    support.ingot("compile", tiny, "-o", pack, "--emit=pack", "-q")
    support.ingot("verify", pack, "--weights", "-q")
    data = bytearray(pack.read_bytes())
    data[-1000] ^= 1
    pack.write_bytes(data)
    refused(support.ingot("verify", pack, "--weights", "-q", check=False), "model.ipk")
