"""The JSON file of a comparison: written after every round, so that a run that ends early goes on where it was."""
import hashlib
import json
import os
import statistics

from . import cases
from .limits import best
from .process import Failure

FORMAT = 2
# A load average above this means that something else runs.
BUSY = 0.7


def file_id(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()[:12]


class Store:
    def __init__(self, path, machine, date):
        self.path = path
        self.data = {"format": FORMAT, "machine": machine, "started": date, "ended": date, "loads": [], "peers": {},
                     "models": {}, "cells": {}}
        if path and os.path.exists(path):
            try:
                with open(path) as file:
                    found = json.load(file)
            except ValueError as error:
                raise Failure(f"{path}: {error}") from error
            if not isinstance(found, dict) or found.get("format") != FORMAT:
                raise Failure(f"{path}: is not a file of this script; name another one")
            if found["machine"] != machine:
                raise Failure(f"{path}: is of another machine ({found['machine']}); name another one")
            self.data = found
            self.data["ended"] = date

    def save(self):
        if not self.path:
            return
        part = self.path + ".part"
        with open(part, "w") as file:
            # One line per model and cell: files of many rounds stay readable and can be compared.
            head = {key: value for key, value in self.data.items() if key not in ("models", "cells")}
            file.write(json.dumps(head, indent=1)[:-2])
            for key in ("models", "cells"):
                entries = [f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in self.data[key].items()]
                file.write(f',\n "{key}": {{' + ("\n" + ",\n".join(entries) + "\n " if entries else "") + "}")
            file.write("\n}\n")
        os.replace(part, self.path)

    def cell(self, model, isa, threads, case):
        """The cell of that name, made where there is none."""
        key = f"{model.label} | {isa} | {threads} | {case.name}"
        cell = self.data["cells"].setdefault(key, {"model": model.label, "isa": isa, "threads": threads,
                                                   "case": case.name, "unit": case.unit})
        if "rounds" not in cell:
            empty(cell)
        return cell


def empty(cell):
    """Forgets what was measured."""
    cell.pop("summary", None)
    cell.update(build=None, rounds=[], absent={}, variants={})


def circumstances(data):
    """When and how: one line for the reader."""
    when = data["started"] if data["started"] == data["ended"] else f"{data['started']} to {data['ended']}"
    loads = sorted(data.get("loads", []))
    if not loads:
        return when
    shown = f"{loads[0]}" if loads[0] == loads[-1] else f"{loads[0]} to {loads[-1]}"
    busy = "; other work ran: compare nothing but the order of magnitude" if loads[-1] > BUSY else ""
    return f"{when}, load of the machine before {shown}{busy}"


def finished(cell, engines, rounds):
    """Whether every engine has a sample in as many rounds as wanted, or a reason to have none."""
    return len(cell["rounds"]) >= rounds and all(
        name in cell["absent"] or all(name in r["samples"] for r in cell["rounds"]) for name in engines)


def own_share(cell, case, model):
    """Median of the rounds' shares of what the probe of the same round found; bandwidth on a shared host may double
    from one minute to the next, and the best probe of all rounds is then no limit of the others."""
    shares = []
    for r in cell["rounds"]:
        limit = cases.limit(case, model, r["probe"]) if r.get("probe") and "Ingot" in r["samples"] else None
        if limit:
            shares.append(r["samples"]["Ingot"]["value"] / limit)
    return statistics.median(shares) if shares else None


def summarize(cell, case, model):
    """Medians, spreads, pairwise ratios and the share of the limit; `cell` gets them as "summary"."""
    values = {}
    for r in cell["rounds"]:
        for name, sample in r["samples"].items():
            values.setdefault(name, []).append(sample)
    engines = {}
    for name, samples in values.items():
        numbers = [s["value"] for s in samples]
        engines[name] = {"median": statistics.median(numbers), "min": min(numbers), "max": max(numbers),
                         "rounds": len(numbers), "peak_rss": max(s["rss"] for s in samples)}
        parts = [s["share_of_parts"] for s in samples if "share_of_parts" in s]
        if parts:
            engines[name]["share_of_parts"] = statistics.median(parts)
    ratios = {}
    for name in engines:
        pairs = [case.ratio(r["samples"]["Ingot"]["value"], r["samples"][name]["value"]) for r in cell["rounds"]
                 if "Ingot" in r["samples"] and name in r["samples"]]
        if name != "Ingot" and pairs:
            ratios[name] = {"median": statistics.median(pairs), "min": min(pairs), "max": max(pairs)}
    summary = {"engines": engines, "ratios": ratios}
    probes = [r["probe"] for r in cell["rounds"] if r.get("probe")]
    if probes:
        summary["probe"] = best(probes)
        summary["limit"] = cases.limit(case, model, summary["probe"])
        if summary["limit"] and "Ingot" in engines:
            summary["share_of_limit"] = engines["Ingot"]["median"] / summary["limit"]
            summary["share_of_own_limit"] = own_share(cell, case, model)
    cell["summary"] = summary
