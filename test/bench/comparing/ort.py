"""ONNX Runtime GenAI from its package, in a virtual environment of the work folder.

It reads no quantized GGUF file: the weights are dequantized by transformers and quantized again by its own builder to
4 bits (blocks of 32, the head too), whatever the file's format was. So its cells say how fast that engine runs a model
of these shapes, not the same numbers; its cache is f32. The converter needs torch (5 GB installed), so this peer takes
part only where --peers names it. No steps of prompt and generation rows together, no logits of a whole text here.
"""
import json
import os
import shutil

from .process import Failure, environment, run, say

PACKAGES = ["onnxruntime-genai==0.18.0", "onnx", "onnx-ir", "transformers", "accelerate", "gguf", "torch"]
WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ort_worker.py")


class Ort:
    name = "ORT GenAI int4"

    def __init__(self, args, cases):
        self.work, self.forced = args.work, args.isa_now if args.isa_now in ("avx2", "avx512") else None
        self.python = None if self.forced else environment(args.work, "ort", "onnxruntime_genai, torch, accelerate", PACKAGES,
                                                               f"{PACKAGES[0]}, torch and transformers")
        self.build_text = f"{PACKAGES[0]}, requantized to int4, f32 cache"
        self.unreadable = {}

    def folder(self, model):
        return os.path.join(self.work, os.path.basename(model.path) + ".ort")

    def prepare(self, model):
        folder = self.folder(model)
        if self.forced or os.path.exists(os.path.join(folder, "genai_config.json")):
            return None
        say(f"converting {model.label} for {self.name}")
        part, plain = folder + ".part", folder + ".hf"
        try:
            run([self.python, WORKER, "convert", model.path, plain], {"HF_HUB_OFFLINE": "1"})
            run([self.python, "-m", "onnxruntime_genai.models.builder", "-i", plain, "-o", part, "-p", "int4", "-e",
                 "cpu", "-c", part, "--extra_options", "hf_token=false"], {"HF_HUB_OFFLINE": "1"})
            os.replace(part, folder)
        except Failure as failure:
            self.unreadable[model.path] = f"not converted: {failure}"
        finally:
            for left in (part, plain):
                shutil.rmtree(left, ignore_errors=True)
        return None

    def refuses(self, case, model):
        if self.forced:
            return f"its instruction set cannot be forced to {self.forced}"
        if model.path in self.unreadable:
            return self.unreadable[model.path]
        if case.positions - 8 > model.context():
            return f"the model's context is {model.context()}"
        if case.kv8:
            return "its cache is f32"
        return {"mix": "no single steps in its interface", "ppl": "no logits of all positions kept"}.get(case.kind)

    def variants(self, case):
        return [""]

    def measure(self, case, model, threads, variant):
        folder = self.folder(model)
        if case.kind == "start" and case.cold:
            for name in os.listdir(folder):
                model.forget_pages(os.path.join(folder, name))
        done = run([self.python, WORKER, "measure", folder, threads, json.dumps(
            {"kind": case.kind, "prompt": case.prompt, "generate": case.generate, "depth": case.depth,
             "sequences": case.batch or 1})], limit=3600)
        if case.kind == "start":
            return {"value": 1000 * done.wall, "rss": done.rss}
        return {"value": json.loads(done.out.strip().split("\n")[-1])["rate"], "rss": done.rss}

    def drop_files(self, model):
        shutil.rmtree(self.folder(model), ignore_errors=True)
