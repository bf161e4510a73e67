"""Ingot: each model compiled once per variant and KV type; a run is one process of the compiled program."""
import json
import os

from .process import Failure, run, say

CONTEXT = 4096


class Ingot:
    name = "Ingot"

    def __init__(self, args, cases):
        self.ingot, self.work, self.isa, self.text, self.chunks = (args.ingot, args.work, args.isa_now, args.text,
                                                                   args.chunks)
        self.positions = max([CONTEXT] + [case.positions for case in cases])
        self.sequences = max([32] + [case.sequences for case in cases])
        self.binaries, self.refused, self.compiling = {}, {}, {}

    def binary(self, model, kv8=False):
        key = (model.path, kv8)
        if key in self.refused:
            raise Failure(self.refused[key])
        if key not in self.binaries:
            path = os.path.join(self.work, f"{os.path.basename(model.path)}.{self.isa}{'.kv8' if kv8 else ''}.ingot")
            say(f"compiling {model.label} for {self.isa}{', int8 cache' if kv8 else ''}")
            try:
                done = run([self.ingot, "compile", model.path, "-o", path, "-q", "--target", self.isa, "--ctx",
                            min(self.positions, model.context()), "--max-seqs", self.sequences]
                           + (["--kv=int8"] if kv8 else [])
                           + (["--numerics=fast"] if self.isa.endswith("bf16") else []))
            except Failure as failure:
                self.refused[key] = str(failure)
                raise
            self.binaries[key] = path
            self.compiling[key] = {"seconds": round(done.wall, 2), "peak_rss": done.rss,
                                   "bytes": os.path.getsize(path)}
        return self.binaries[key]

    def prepare(self, model):
        self.binary(model)
        return self.compiling[(model.path, False)]

    def variant_of(self, model):
        """The variant by its own name, where --isa says native."""
        if self.isa != "native":
            return self.isa
        return json.loads(run([self.binary(model), "info", "--json"]).out)["isas"][0]

    def refuses(self, case, model):
        """Why the case cannot be run, or None."""
        if case.positions - 8 > model.context():
            return f"the model's context is {model.context()}"
        if case.kind == "ppl" and (model.generated or not self.text):
            return "random weights" if model.generated else "no --text"
        try:
            self.binary(model, case.kv8)
        except Failure as failure:
            return str(failure)
        return None

    def variants(self, case):
        return [""]

    def measure(self, case, model, threads, variant):
        binary = self.binary(model, case.kv8)
        if case.kind == "start":
            if case.cold:
                model.forget_pages(binary)
            done = run([binary, "run", "-p", "Hello", "-n", "1", "--temp", "0", "-q", "-t", threads])
            return {"value": 1000 * done.wall, "rss": done.rss}
        if case.kind == "ppl":
            done = run([binary, "eval", "--perplexity", self.text, "--ctx", "512", "--chunks", self.chunks, "--json",
                        "-q", "-t", threads])
            return {"value": json.loads(done.out)["perplexity"], "rss": done.rss}
        command = [binary, "bench", "--json", "-q", "-r", "1", "-t", threads, "-d", case.depth, "-b", case.batch or 1]
        if case.kind == "mix":
            command += ["-p", "0", "-n", "0", "--mix", case.prompt]
        else:
            command += ["-p", case.prompt, "-n", case.generate]
        done = run(command)
        row = json.loads(done.out)[0]
        sample = {"value": row["median_ts"], "rss": done.rss}
        if case.kind == "mix":
            sample["share_of_parts"] = row["share_of_parts"]
        return sample

    def drop_files(self, model):
        for key in [key for key in self.binaries if key[0] == model.path]:
            os.unlink(self.binaries.pop(key))
