"""The dashboard page: what the JSON files of test/bench/compare say, at a glance."""
import json

from . import cases
from .process import Failure
from .store import FORMAT, circumstances
from .table import done_cells, head, row, short, spread

WIDTH = 20


def load(path):
    try:
        with open(path) as file:
            data = json.load(file)
    except (OSError, ValueError) as error:
        raise Failure(f"{path}: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT or not isinstance(data.get("cells"), dict):
        raise Failure(f"{path}: is no file of test/bench/compare --json")
    return data


def bar(share):
    """A share of 0 to 1 as text; more than 1 is shown full."""
    full = round(WIDTH * min(max(share, 0.0), 1.0))
    return "`" + "█" * full + "·" * (WIDTH - full) + "`"


def best_peer(summary, unit):
    """(name, engine) of the peer with the best median, or None."""
    peers = [(name, engine) for name, engine in summary["engines"].items() if name != "Ingot"]
    if not peers or "Ingot" not in summary["engines"]:
        return None
    pick = max if unit == cases.RATE else min
    return pick(peers, key=lambda pair: pair[1]["median"])


def standing(cells):
    """Counts and the list of what is behind a peer, by the median of the pairwise ratios."""
    won, lost, alone = 0, [], 0
    for cell in cells:
        ratios = cell["summary"]["ratios"]
        behind = [(name, ratio) for name, ratio in ratios.items() if ratio["median"] < 1]
        if not ratios:
            alone += 1
        elif behind:
            lost += [(cell, name, ratio) for name, ratio in behind]
        else:
            won += 1
    return won, lost, alone


def standing_lines(cells):
    won, lost, alone = standing(cells)
    behind = len({id(cell) for cell, _, _ in lost})
    lines = [f"Cells: {len(cells)}. Ahead of every peer that ran: {won}. Behind one: {behind}. "
             f"Without a peer: {alone}.", ""]
    if lost:
        lines += head("behind", "in", "ratio (smallest-largest)")
        for cell, name, ratio in sorted(lost, key=lambda item: item[2]["median"]):
            lines.append(row(name, f"{cell['model']}, {cell['isa']}, {cell['threads']} thread(s), {cell['case']}",
                             f"{ratio['median']:.2f} ({ratio['min']:.2f}-{ratio['max']:.2f})"))
        lines.append("")
    return lines


def group_lines(cells):
    lines = head("case", "Ingot", "best peer", "ratio (smallest-largest)", "share of the limit", "")
    for cell in cells:
        summary, unit = cell["summary"], cell["unit"]
        ours, peer = summary["engines"].get("Ingot"), best_peer(summary, unit)
        words = [cell["case"], f"{spread(ours, unit)} {unit if unit != cases.PERPLEXITY else ''}".strip()
                 if ours else short(cell["absent"].get("Ingot", "-"))]
        if peer:
            ratio = summary["ratios"][peer[0]]
            words += [f"{peer[0]} {spread(peer[1], unit)}",
                      f"**{ratio['median']:.2f}** ({ratio['min']:.2f}-{ratio['max']:.2f})"]
        else:
            words += ["-", "-"]
        share = summary.get("share_of_limit")
        words += [f"{100 * share:.0f} %", bar(share)] if share else ["-", ""]
        lines.append(row(*words))
    return lines + [""]


def page(paths):
    lines = ["# Dashboard", "", "Generated: `test/bench/dashboard test/bench/results/*.json > docs/dashboard.md`, from the files that",
             "`test/bench/compare --json FILE.json` writes; [comparing.md](comparing.md) says how they are made and",
             "what a case's name means. Medians (smallest-largest). A ratio above 1: Ingot is better. The bar is Ingot's share",
             "of what the machine's limit allows.", ""]
    for path in paths:
        data = load(path)
        cells = done_cells(data)
        rounds = [len(cell["rounds"]) for cell in cells if cell["unit"] != cases.PERPLEXITY]
        lines += [f"## {data['machine']}", "", f"{circumstances(data)}.", ""]
        if not cells:
            lines += ["No finished cell.", ""]
            continue
        few = ""
        if rounds:
            few = f"{'-'.join(str(n) for n in sorted({min(rounds), max(rounds)}))} rounds; "
        lines += [few + "; ".join(f"{name}: {text}" for name, text in data["peers"].items()) + ".", ""]
        lines += standing_lines(cells)
        groups = {}
        for cell in cells:
            groups.setdefault((cell["model"], cell["isa"], cell["threads"]), []).append(cell)
        for (model, isa, threads), members in groups.items():
            lines += [f"### {model}, {isa}, {threads} thread{'s' if threads > 1 else ''}", ""] + group_lines(members)
    return "\n".join(lines).rstrip() + "\n"
