"""llama.cpp, built from the sources in the package llama-cpp-python.

Single sequences by llama-bench, batches by llama-batched-bench (from a cache of one token), a whole process by
llama-completion, perplexity by llama-perplexity. None of its tools makes a step of prompt and generation rows
together, so peer_mixed.cpp does that through its C interface. Flash attention on and off are both tried
in a cell's first round, for mixed steps also one cache for all sequences or one each, and the faster stays.
"""
import json
import os
import re
import subprocess

import peer

from .process import Failure, run

TOOLS = ["llama-bench", "llama-batched-bench", "llama-completion", "llama-perplexity"]


class Llama:
    name = "llama.cpp"

    def __init__(self, args, cases):
        self.text, self.chunks = args.text, args.chunks
        isa = args.peer_isa or (args.isa_now if args.isa_now in peer.FLAGS else "native")
        self.isa = isa if not args.llama_build else "as given"
        try:
            self.folder = args.llama_build or self.built(args.work, isa)
            peer.source_of(self.folder)
            self.mixed = None
            if any(case.kind == "mix" for case in cases):
                folder = os.path.join(args.work, f"drivers-{self.isa.replace(' ', '-')}")
                os.makedirs(folder, exist_ok=True)
                self.mixed = peer.driver(self.folder, folder, "peer_mixed")
        except SystemExit as error:
            raise Failure(str(error)) from error
        except (OSError, subprocess.CalledProcessError) as error:
            raise Failure(f"llama.cpp is not built: {error}") from error
        self.attention = ["off", "on"] if args.llama_fa == "best" else [args.llama_fa]
        self.build_text = f"{peer.PEER}, {self.isa}"

    @staticmethod
    def built(work, isa):
        folder = os.path.join(work, "peer" if isa == "native" else f"peer-{isa}")
        if all(os.path.exists(os.path.join(folder, "bin", tool)) for tool in TOOLS):
            return folder
        return peer.build(work, *TOOLS, isa=isa)

    def tool(self, name):
        path = os.path.join(self.folder, "bin", name)
        if not os.path.exists(path):
            raise Failure(f"{path}: not built")
        return path

    def prepare(self, model):
        return None

    def refuses(self, case, model):
        if case.positions - 8 > model.context():
            return f"the model's context is {model.context()}"
        if case.kind == "ppl" and (model.generated or not self.text):
            return "random weights" if model.generated else "no --text"
        return None

    def variants(self, case):
        if case.kind in ("start", "ppl"):
            return ["fa=auto"]
        attention = ["on"] if case.kv8 else self.attention
        if case.kind == "mix":
            return [f"fa={a} cache={c}" for a in attention for c in ("one", "each")]
        return [f"fa={a}" for a in attention]

    def measure(self, case, model, threads, variant):
        options = dict(word.split("=") for word in variant.split())
        attention = options["fa"]
        cache = ["-ctk", "q8_0", "-ctv", "q8_0"] if case.kv8 else []
        shared = ["-m", model.path, "-t", threads, "-fa", attention] + cache
        if case.kind == "start":
            if case.cold:
                model.forget_pages()
            done = run([self.tool("llama-completion"), *shared, "-p", "Hello", "-n", "1", "--temp", "0", "-no-cnv",
                        "--no-warmup", "-c", "512"])
            return {"value": 1000 * done.wall, "rss": done.rss}
        if case.kind == "ppl":
            done = run([self.tool("llama-perplexity"), *shared, "-f", self.text, "-c", "512", "--chunks", self.chunks])
            match = re.search(r"Final estimate: PPL = ([\d.]+)", done.out + done.err)
            if not match:
                raise Failure("llama-perplexity printed no final estimate")
            return {"value": float(match[1]), "rss": done.rss}
        if case.kind == "mix":
            done = run([self.mixed, model.path, case.prompt, case.batch, case.depth, threads, attention,
                        options["cache"], "q8_0" if case.kv8 else "f16"])
            row = json.loads(done.out)
            return {"value": row["rate"], "share_of_parts": row["share_of_parts"], "rss": done.rss}
        if case.batch:
            before = max(case.depth, 1)
            context = case.batch * ((before + case.generate + 255) // 256 * 256)
            done = run([self.tool("llama-batched-bench"), *shared, "-c", context, "-npp", before, "-ntg",
                        case.generate, "-npl", case.batch, "--output-format", "jsonl"])
            rows = [line for line in (done.out + done.err).split("\n") if line.startswith("{")]
            if not rows:
                raise Failure("llama-batched-bench printed no result")
            return {"value": json.loads(rows[0])["speed_tg"], "rss": done.rss}
        done = run([self.tool("llama-bench"), *shared, "-o", "json", "-r", "1", "-p", case.prompt, "-n",
                    case.generate, "-d", case.depth])
        row = json.loads(done.out)[0]
        self.build_text = f"{peer.PEER} (commit {row['build_commit']}), {self.isa}"
        return {"value": row["avg_ts"], "rss": done.rss}

    def drop_files(self, model):
        pass
