"""The Markdown tables of a comparison."""
from . import cases, store


def spread(engine, unit):
    digits = {cases.RATE: 1, cases.MILLISECONDS: 0}.get(unit, 4)
    if engine["rounds"] == 1 or engine["min"] == engine["max"]:
        return f"{engine['median']:.{digits}f}"
    return f"{engine['median']:.{digits}f} ({engine['min']:.{digits}f}-{engine['max']:.{digits}f})"


def row(*words):
    return "| " + " | ".join(str(word) for word in words) + " |"


def head(*words):
    return [row(*words), "|" + "---|" * len(words)]


def short(reason, length=60):
    reason = reason.replace("|", "/").replace("\n", " ")
    return reason if len(reason) <= length else reason[:length - 3] + "..."


def done_cells(data):
    return [cell for cell in data["cells"].values() if "summary" in cell]


def peers_of(data):
    names = {}
    for cell in data["cells"].values():
        for name in list(cell.get("summary", {}).get("engines", {})) + list(cell["absent"]):
            names[name] = None
    return [name for name in names if name != "Ingot"]


def shown_ratio(summary, peer):
    ratio = summary["ratios"].get(peer)
    if not ratio:
        return "-"
    return f"**{ratio['median']:.2f}** ({ratio['min']:.2f}-{ratio['max']:.2f})"


def speed(data):
    peers = peers_of(data)
    lines = []
    for unit, better in ((cases.RATE, "tokens/s"), (cases.MILLISECONDS, "ms, whole process; a ratio above 1: faster"),
                         (cases.PERPLEXITY, "perplexity; a ratio above 1: lower")):
        chosen = [cell for cell in done_cells(data) if cell["unit"] == unit]
        if not chosen:
            continue
        columns = ["model", "isa", "threads", "case", "Ingot"]
        for peer in peers:
            columns += [peer, f"Ingot / {peer}" if unit == cases.RATE else f"{peer} / Ingot"]
        lines += [f"In {better}:", ""] + head(*columns, *(["of the limit", "of the round's"] if unit == cases.RATE else []))
        for cell in chosen:
            summary = cell["summary"]
            words = [cell["model"], cell["isa"], cell["threads"], cell["case"]]
            for name in ["Ingot"] + peers:
                engine = summary["engines"].get(name)
                words.append(spread(engine, unit) if engine else "absent" if name in cell["absent"] else "-")
                if name != "Ingot":
                    words.append(shown_ratio(summary, name))
            if unit == cases.RATE:
                for share in (summary.get("share_of_limit"), summary.get("share_of_own_limit")):
                    words.append(f"{100 * share:.0f} %" if share else "-")
            lines.append(row(*words))
        lines.append("")
    return lines


def mixed(data):
    chosen = [cell for cell in done_cells(data) if cell["case"].startswith("mix")]
    if not chosen:
        return []
    engines = ["Ingot"] + peers_of(data)
    lines = ["Mixed steps, time as a share of the time of a prompt step and a generation step:", ""]
    lines += head("model", "isa", "threads", "case", *engines)
    for cell in chosen:
        shares = [cell["summary"]["engines"].get(name, {}).get("share_of_parts") for name in engines]
        lines.append(row(cell["model"], cell["isa"], cell["threads"], cell["case"],
                         *(f"{share:.2f}" if share else "-" for share in shares)))
    return lines + [""]


def memory(data):
    engines = ["Ingot"] + peers_of(data)
    lines = ["Peak resident memory of the processes above, MB:", ""] + head("model", "isa", "threads", "case", *engines)
    for cell in done_cells(data):
        if cell["case"] in ("pp512", "tg128", "tg128@d4096", "tg128@d4096/kv8", "tg128@b32", "start"):
            peaks = [cell["summary"]["engines"].get(name, {}).get("peak_rss") for name in engines]
            lines.append(row(cell["model"], cell["isa"], cell["threads"], cell["case"],
                             *(f"{peak / 1e6:.0f}" if peak else "-" for peak in peaks)))
    return lines + [""] if len(lines) > 4 else []


def models(data):
    if not data["models"]:
        return []
    lines = head("model", "variant", "file MB", "compile s", "compile peak MB", "binary MB", "weights read per token MB")
    for name, entry in data["models"].items():
        for isa, made in entry["compiled"].items():
            lines.append(row(name, isa, f"{entry['file_bytes'] / 1e6:.0f}", made["seconds"],
                             f"{made['peak_rss'] / 1e6:.0f}", f"{made['bytes'] / 1e6:.0f}",
                             f"{entry['weight_bytes'] / 1e6:.1f}"))
    return lines + [""]


def limits(data):
    lines = ["Limits (best of the probes of the rounds):", ""]
    lines += head("model", "isa", "threads", "case", "working set MB", "GB/s", "int8 GOP/s", "f32 GFLOP/s", "bf16 GFLOP/s",
                  "tokens/s")
    for cell in done_cells(data):
        probe, limit = cell["summary"].get("probe"), cell["summary"].get("limit")
        if probe and limit:
            lines.append(row(cell["model"], cell["isa"], cell["threads"], cell["case"], f"{probe['bytes'] / 1e6:.0f}",
                             f"{probe['read_gbs']:.1f}", f"{probe['int8_gops']:.0f}", f"{probe['fma_gflops']:.0f}",
                             f"{probe['bf16_gflops']:.0f}" if probe.get("bf16_gflops") else "-", f"{limit:.1f}"))
    return lines + [""] if len(lines) > 4 else []


def absences(data):
    reasons = {}
    for cell in data["cells"].values():
        for name, reason in cell["absent"].items():
            reasons.setdefault((name, cell["model"], reason), []).append(cell["case"])
    if not reasons:
        return []
    lines = ["Absent:", ""]
    for (name, model, reason), names in reasons.items():
        listed = ", ".join(dict.fromkeys(names))
        lines.append(f"- {name}, {model}, {listed}: {short(reason, 340)}")
    return lines + [""]


def variants(data):
    chosen = {}
    for cell in done_cells(data):
        for name, variant in cell["variants"].items():
            if variant:
                chosen.setdefault(f"{name} with {variant}", []).append(
                    f"{cell['model']} {cell['threads']}t {cell['case']}")
    return [f"- {how}: {', '.join(cells)}" for how, cells in chosen.items()]


def markdown(data):
    count = sorted({len(cell["rounds"]) for cell in done_cells(data) if cell["unit"] != cases.PERPLEXITY})
    rounds = "-".join(str(n) for n in sorted({count[0], count[-1]})) if count else "0"
    lines = [f"{data['machine']}, {store.circumstances(data)}. {rounds} rounds, medians (smallest-largest)."]
    lines += [f"{name}: {text}." for name, text in data["peers"].items()]
    builds = sorted({cell["build"] for cell in done_cells(data)})
    lines += [f"Ingot: sha256 {', '.join(builds)}." if builds else "No finished cell.", ""]
    lines += speed(data) + mixed(data) + memory(data) + models(data) + limits(data) + absences(data)
    chosen = variants(data)
    if chosen:
        lines += ["Options chosen for a peer, the fastest of those tried in the first round:", ""] + chosen + [""]
    return "\n".join(lines).rstrip() + "\n"
