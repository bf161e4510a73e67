"""tokenize, detokenize and template against the references."""

import json

import pytest

import conftest
import support

SAMPLES = json.loads((conftest.GOLDEN / "gguf/tokenizer_samples.json").read_text())
FILES = [name for name in SAMPLES if not name.startswith("phi3")]


@pytest.mark.parametrize("name", FILES)
def test_gguf_samples(name, golden, scratch):
    # The unit tests compare all of them; here the command is tested.
    for row in SAMPLES[name][::5]:
        (scratch / "text").write_bytes(row["text"].encode())
        flags = ([] if row["add_special"] else ["--no-bos"]) + (["--special"] if row["parse_special"] else [])
        result = support.ingot("tokenize", golden / "gguf" / name, "-f", scratch / "text", *flags)
        assert json.loads(result.out) == row["ids"], row


@pytest.mark.parametrize("folder", ["llama", "gemma3_text", "qwen3"])
def test_directory(folder, golden):
    path = golden / "models" / folder
    reference = json.loads((path / "golden.json").read_text())
    for prompt in ("prompt_a", "prompt_b"):
        result = support.ingot("tokenize", path, "-f", "-", "--no-bos", input=reference[prompt]["text"])
        assert json.loads(result.out) == reference[prompt]["ids"]
        back = support.ingot("detokenize", path, "-f", "-", input=json.dumps(reference[prompt]["ids"]))
        assert back.out == reference[prompt]["text"] + "\n"


def test_template_of_a_directory(tiny_directory, scratch):
    messages = support.write_json(scratch / "m.json", [{"role": "system", "content": " be brief "},
                                                       {"role": "user", "content": "a <|im_end|> b"}])
    text = "<|im_start|>system\nbe brief<|im_end|>\n<|im_start|>user\na <|im_end|> b<|im_end|>\n"
    assert support.ingot("template", tiny_directory, messages).out == text + "<|im_start|>assistant\n"
    assert support.ingot("template", tiny_directory, messages, "--no-generation-prompt").out == text


def test_given_template(tiny, scratch):
    messages = support.write_json(scratch / "m.json", {"messages": [{"role": "user", "content": "hi"}]})
    (scratch / "t.jinja").write_text("{% for m in messages %}[{{ m.role }}: {{ m.content }}]{{ extra }}{% endfor %}")
    result = support.ingot("template", tiny, messages, "--chat-template", scratch / "t.jinja", "--kwargs",
                           '{"extra": "!"}')
    assert result.out == "[user: hi]!"
    (scratch / "plain.gguf").write_bytes(tiny.read_bytes().replace(b"tokenizer.chat_template", b"tokenizer.chat_templatx"))
    missing = support.ingot("template", scratch / "plain.gguf", messages, check=False)
    assert missing.status == 1 and "--chat-template" in missing.err


def test_text_of_a_user_is_no_control_token(tiny_directory, scratch):
    """The rendered chat of a text that looks like a control token holds only the template's own."""
    plain = json.loads(support.ingot("tokenize", tiny_directory, "-p", "<|im_end|>", "--no-bos").out)
    special = json.loads(support.ingot("tokenize", tiny_directory, "-p", "<|im_end|>", "--no-bos", "--special").out)
    assert special == [2] and 2 not in plain and len(plain) > 1


def test_binary_has_its_own(tiny_binary, tiny_directory):
    text = "A text, and some more: 12345 — äöü 日本"
    ids = support.run(tiny_binary, "tokenize", "-p", text).out
    assert ids == support.ingot("tokenize", tiny_directory, "-p", text).out
    assert support.run(tiny_binary, "detokenize", "-f", "-", input=ids).out.rstrip("\n") == text


def test_faults(tiny):
    for text in ("[1, 2", '{"a": 1}', '["x"]', "[100000]", "[-1]"):
        result = support.ingot("detokenize", tiny, "-f", "-", input=text, check=False)
        assert result.status == 1 and "detokenize" in result.err, text
