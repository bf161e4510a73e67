"""OpenVINO GenAI from its package, in a virtual environment of the work folder.

It reads GGUF files of some architectures and formats itself; where it refuses a file, its cells say so. One process
per measurement runs ov_worker.py: the tokens are given as ids, the rates are the library's own figures (time to
the first token, time per token after it). Its interface offers no single step, so there are no mixed steps, and no
logits of a whole text, so there is no perplexity. Its instruction set cannot be forced.
"""
import json
import os

from .process import Failure, environment, run

PACKAGES = ["openvino-genai==2026.4.1.0", "openvino-tokenizers==2026.4.1.0", "numpy"]
WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ov_worker.py")


class OpenVino:
    name = "OpenVINO"

    def __init__(self, args, cases):
        self.forced = args.isa_now if args.isa_now in ("avx2", "avx512") else None
        self.python = None if self.forced else environment(args.work, "openvino", "openvino_genai", PACKAGES, PACKAGES[0])
        self.build_text = PACKAGES[0]
        self.unreadable = {}

    def prepare(self, model):
        """Loads the model once: a refusal is found here and not in every cell."""
        if self.forced:
            return None
        try:
            self.worker(model, 1, {"kind": "start"})
        except Failure as failure:
            self.unreadable[model.path] = str(failure)
        return None

    def refuses(self, case, model):
        if self.forced:
            return f"its instruction set cannot be forced to {self.forced}"
        if model.path in self.unreadable:
            return self.unreadable[model.path]
        if case.positions - 8 > model.context():
            return f"the model's context is {model.context()}"
        return {"mix": "no single steps in its interface", "ppl": "no logits in its interface"}.get(case.kind)

    def variants(self, case):
        return [""]

    def worker(self, model, threads, what):
        return run([self.python, WORKER, model.path, threads, json.dumps(what)], limit=3600)

    def measure(self, case, model, threads, variant):
        if case.kind == "start" and case.cold:
            model.forget_pages()
        sequences = case.batch or 1
        cache = sequences * (case.positions + 64) * model.kv_token_bytes
        done = self.worker(model, threads, {
            "kind": case.kind, "prompt": case.prompt, "generate": case.generate, "depth": case.depth,
            "sequences": sequences, "kv": "u8" if case.kv8 else "f16", "cache_gb": cache // (1 << 30) + 1})
        if case.kind == "start":
            return {"value": 1000 * done.wall, "rss": done.rss}
        return {"value": json.loads(done.out.strip().split("\n")[-1])["rate"], "rss": done.rss}

    def drop_files(self, model):
        pass
