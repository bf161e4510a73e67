"""One model: both engines and the reference, and the parts of the judgement."""

import hashlib
import json
import math
import os
import subprocess
import sys

import numpy

import peer
from judging.engine import Ingot, read_arrays, read_json
from judging.measures import Distance, along, log_softmax, ratio_bound, statistics_of


class Model:
    def __init__(self, args, file, work):
        self.args, self.work, self.name = args, work, os.path.basename(file)
        with open(file, "rb") as f:
            digest = hashlib.sha256(f.read()).hexdigest()
        for folder in sorted(os.listdir(args.references)):
            self.reference = os.path.join(args.references, folder)
            if os.path.exists(os.path.join(self.reference, "model.json")):
                self.meta = read_json(os.path.join(self.reference, "model.json"))
                if self.meta["file_sha256"] == digest:
                    break
        else:
            sys.exit(f"{file}: no folder of {args.references} is about this file (sha256 {digest})")
        binary = os.path.join(work, "model")
        subprocess.run([args.ingot, "compile", file, "-o", binary, "-q", "--target", args.target, "--kv", args.kv],
                       check=True)
        options = ["-q", "-t", str(args.threads)]
        self.ref = Ingot(args.ingot, ["--kernels=ref", *options], work, [file])
        self.native = Ingot(binary, options + (["--isa", args.isa] if args.isa else []), work)
        self.llama = peer.Peer(args.driver, file, args.threads, args.flash_attention, work)
        if self.llama.vocab != self.meta["n_vocab"]:
            sys.exit(f"{file}: llama.cpp has {self.llama.vocab} tokens, the reference {self.meta['n_vocab']}")
        self.prompts = read_json(os.path.join(self.reference, "prompts.json"))["prompts"]

    def chunks(self, count):
        """(ids, targets, stored log p) of each chunk; targets are what follows the scored positions."""
        info = read_json(os.path.join(self.reference, "ppl.json"))
        arrays = read_arrays(os.path.join(self.reference, "ppl.safetensors"))
        tokens, logprob = arrays["tokens"], arrays["logprob"]
        if not 0 < count <= len(tokens):
            sys.exit(f"{self.reference}: 1 to {len(tokens)} chunks, not {count}")
        first = info["first_scored_position"]
        self.positions = list(range(first, tokens.shape[1] - 1))
        for row, stored in zip(tokens[:count], logprob):
            ids = [int(t) for t in row]
            targets = ids[first + 1:]
            if info["bos_replaces_first_token"]:
                ids[0] = self.meta["bos"]
            yield ids, targets, stored.astype(numpy.float64)

    def perplexity(self):
        """Losses over the scored tokens of all chunks, and what must hold between them."""
        stored, scores = [], {"ingot": [], "llama": []}
        for ids, targets, expected in self.chunks(self.args.chunks):
            stored.append(expected)
            for name, engine in (("ingot", self.native), ("llama", self.llama)):
                logits = engine.logits(ids, self.positions)
                scores[name] += [log_softmax(row)[target] for row, target in zip(logits, targets)]
                del logits
        stored = numpy.concatenate(stored)
        loss = {name: stored - numpy.array(values) for name, values in scores.items()}
        pair = statistics_of(loss["ingot"] - loss["llama"])
        return {"tokens": stored.size, "perplexity_ref": math.exp(-stored.mean()),
                "perplexity": {n: math.exp(-numpy.mean(v)) for n, v in scores.items()},
                "loss": {n: statistics_of(v) for n, v in loss.items()}, "difference": pair,
                "ok": pair["mean"] <= 2 * pair["standard_error"]}

    def divergence(self):
        values, drift = {"ingot": [], "llama": []}, 0
        same_best = {"ingot": 0, "llama": 0}
        for ids, targets, expected in self.chunks(self.args.kl_chunks):
            ref = self.ref.logits(ids, self.positions)
            engines = {"ingot": self.native.logits(ids, self.positions), "llama": self.llama.logits(ids, self.positions)}
            for i, target in enumerate(targets):
                p = log_softmax(ref[i])
                # The oracle itself meets the stored reference, which was computed by something else.
                drift = max(drift, abs(p[target] - expected[i]))
                weight = numpy.exp(p)
                for name, logits in engines.items():
                    values[name].append(float(weight @ (p - log_softmax(logits[i]))))
                    same_best[name] += int(logits[i].argmax() == ref[i].argmax())
        values = {n: numpy.array(v) for n, v in values.items()}
        ratio = values["ingot"].mean() / values["llama"].mean()
        return {"positions": values["ingot"].size, "kl": {n: statistics_of(v) for n, v in values.items()},
                "median": {n: float(numpy.median(v)) for n, v in values.items()},
                "same_best": {n: v / values[n].size for n, v in same_best.items()},
                "difference": statistics_of(values["ingot"] - values["llama"]), "ratio": float(ratio),
                "oracle_to_stored_logprob": float(drift), "ok": bool(ratio <= 1.05 and drift < 1e-2)}

    def greedy(self, engine, prompt, count):
        """Tokens that `engine` continues the prompt's stored ids with."""
        if engine is self.llama:
            return engine.greedy(prompt["ids"], count)
        return json.loads(engine.run("verify", "--ids", engine.ids(prompt["ids"]), "--greedy", str(count)))

    def texts(self, noise):
        """Greedy text of both engines. `noise`: what llama.cpp was seen to stay below the best by, or None."""
        prompts, partings, deficits, count = [], [], {"ingot": [], "llama": []}, 64
        for prompt in self.prompts:
            length, texts, rows = len(prompt["ids"]), {}, {}
            for name, engine in (("ingot", self.native), ("llama", self.llama)):
                texts[name] = self.greedy(engine, prompt, count)
                # What the reference thinks of each choice, at exactly the prefix where it was made.
                rows[name] = self.ref.logits(prompt["ids"] + texts[name][:-1], list(range(length - 1, length - 1 + count)))
                deficits[name] += [float(r.max() - r[t]) for r, t in zip(rows[name], texts[name])]
            at = next((i for i in range(count) if texts["ingot"][i] != texts["llama"][i]), None)
            stored = {n: next((i for i in range(count) if t[i] != prompt["greedy"][i]), None) for n, t in texts.items()}
            prompts.append({"prompt": prompt["name"], "engines_part_at": at, "parts_from_reference_at": stored})
            if at is not None:
                row = rows["ingot"][at]
                second, best = numpy.partition(row, -2)[-2:]
                one = {"prompt": prompt["name"], "at": at, "margin": float(best - second), "best": int(row.argmax()),
                       **{n: {"token": t[at], "below_best": float(best - row[t[at]])} for n, t in texts.items()}}
                partings.append(one)
        result = {"tokens": count * len(self.prompts), "prompts": prompts, "partings": partings,
                  "not_best": {n: sum(d > 0 for d in v) for n, v in deficits.items()},
                  "largest_below_best": {n: max(v) for n, v in deficits.items()}}
        result["noise"] = max(result["largest_below_best"]["llama"], noise or 0)
        result["ok"] = (result["largest_below_best"]["ingot"] <= result["noise"] and
                        all(p["margin"] <= result["noise"] for p in partings))
        return result

    def distances(self):
        """Both engines along the stored texts, and the hidden states of one prompt."""
        arrays = read_arrays(os.path.join(self.reference, "prompts.safetensors"))
        engines = {"ingot": self.native, "llama": self.llama}
        prompts, total, drift, tokens = [], {n: Distance() for n in engines}, 0, 0
        departures = {n: [] for n in engines}
        for prompt in self.prompts:
            one = {n: Distance() for n in engines}
            ids, positions, chosen = along(prompt["ids"], prompt["greedy"], prompt["positions"])
            ref = self.ref.logits(ids, positions)
            check = Distance()
            check.add(ref, positions, prompt["positions"], arrays, prompt["name"] + ".")
            drift, tokens = max(drift, check.largest()), tokens + len(chosen)
            for name, engine in engines.items():
                logits = engine.logits(ids, positions)
                for d in (one[name], total[name]):
                    d.add(logits, positions, prompt["positions"], arrays, prompt["name"] + ".")
                for row in chosen:
                    pick = logits[row].argmax()
                    if pick != ref[row].argmax():
                        departures[name].append(float(ref[row].max() - ref[row][pick]))
            prompts.append({"prompt": prompt["name"], **{n: d.summary() for n, d in one.items()}})
        long, long_departures = self.long(engines)
        hidden = self.hidden(engines)
        factor = ratio_bound(len(total["ingot"].logits)), ratio_bound(len(long["ingot"].logits))
        ok = (drift < 1e-2 and total["ingot"].rms("logprobs") <= factor[0] * total["llama"].rms("logprobs") and
              long["ingot"].rms("logprobs") <= factor[1] * long["llama"].rms("logprobs"))
        return {"prompts": prompts, "all": {n: d.summary() for n, d in total.items()},
                "long": {n: d.summary() for n, d in long.items()}, "factors": factor, "tokens": tokens,
                "departures": {n: len(v) for n, v in departures.items()},
                "largest_departure": {n: max(v, default=0) for n, v in departures.items()},
                "long_departures": long_departures, "hidden": hidden, "oracle_to_stored_logits": drift, "ok": bool(ok)}

    def long(self, engines):
        info = read_json(os.path.join(self.reference, "long.json"))
        arrays = read_arrays(os.path.join(self.reference, "long.safetensors"))
        ids, positions, chosen = along([int(i) for i in arrays["ids"]], info["greedy"], info["positions"])
        distance, departures = {n: Distance() for n in engines}, {}
        for name, engine in engines.items():
            logits = engine.logits(ids, positions)
            distance[name].add(logits, positions, info["positions"], arrays, "")
            departures[name] = [margin for row, token, margin in zip(chosen, info["greedy"], info["greedy_margin"])
                                if logits[row].argmax() != token]
        return distance, departures

    def hidden(self, engines):
        """Error of the last position's vector, relative to its length: of each layer, then of the norm."""
        info = read_json(os.path.join(self.reference, "hidden.json"))
        expected = read_arrays(os.path.join(self.reference, "hidden.safetensors"))["last_position"][1:]
        ids = next(p["ids"] for p in self.prompts if p["name"] == info["prompt"])
        found = {"ingot": self.native.hidden(ids, len(expected) - 1),
                 "llama": self.llama.hidden(ids, expected.shape[1])}
        length = numpy.linalg.norm(expected.astype(numpy.float64), axis=1)
        return {n: (numpy.linalg.norm(found[n].astype(numpy.float64) - expected, axis=1) / length).tolist()
                for n in engines}

    def close(self):
        self.llama.close()
