"""The judgement as Markdown."""


def milli(entry):
    return f"{1000 * entry['mean']:.3f} ± {1000 * entry['standard_error']:.3f}"


def word(ok):
    return "holds" if ok else "**does not hold**"


def markdown(result):
    models = result["models"]
    lines = [f"{result['date']}, {result['machine']}, {result['settings']['chunks']} chunks, KL over "
             f"{result['settings']['kl_chunks']}; llama.cpp {models[0]['llama_build']}, flash attention "
             f"{result['settings']['flash_attention']}"]
    rows = [(m, m["ppl"]) for m in models if "ppl" in m]
    if rows:
        lines += ["", "| model | tokens | perplexity: f32 | Ingot | llama.cpp | loss x 1000: Ingot | llama.cpp | difference | "
                  "at most llama.cpp's + 2 standard errors |", "|---|---|---|---|---|---|---|---|---|"]
        lines += [f"| {m['model']} | {p['tokens']} | {p['perplexity_ref']:.4f} | {p['perplexity']['ingot']:.4f} | "
                  f"{p['perplexity']['llama']:.4f} | {milli(p['loss']['ingot'])} | {milli(p['loss']['llama'])} | "
                  f"{milli(p['difference'])} | {word(p['ok'])} |" for m, p in rows]
    rows = [(m, m["kl"]) for m in models if "kl" in m]
    if rows:
        lines += ["", "| model | positions | mean KL x 1000: Ingot | llama.cpp | ratio | best token kept: Ingot | llama.cpp | "
                  "ratio at most 1.05 |", "|---|---|---|---|---|---|---|---|"]
        lines += [f"| {m['model']} | {k['positions']} | {milli(k['kl']['ingot'])} | {milli(k['kl']['llama'])} | "
                  f"**{k['ratio']:.3f}** | {100 * k['same_best']['ingot']:.1f} % | {100 * k['same_best']['llama']:.1f} % | "
                  f"{word(k['ok'])} |" for m, k in rows]
    rows = [(m, m["distance"]) for m in models if "distance" in m]
    if rows:
        lines += ["", "| model | engine | log p of likely tokens, rms: prompts | long prompt | logits, largest: prompts | "
                  "long prompt | logits, rms: prompts | greedy tokens that differ | at margins up to | hidden states, "
                  "largest error | of the norm | rms within llama.cpp's x 1 + 2/√rows |",
                  "|---|---|---|---|---|---|---|---|---|---|---|---|"]
        for m, d in rows:
            for name, title in (("ingot", "Ingot"), ("llama", "llama.cpp")):
                a, long, h = d["all"][name], d["long"][name], d["hidden"][name]
                lines.append(f"| {m['model']} | {title} | {a['rms_logprob']:.4f} | {long['rms_logprob']:.4f} | "
                             f"{a['largest']:.3f} | {long['largest']:.3f} | {a['rms']:.4f} | "
                             f"{d['departures'][name]} of {d['tokens']} | {d['largest_departure'][name]:.3f} | "
                             f"{max(h):.4f} | {h[-1]:.4f} | {word(d['ok']) if name == 'ingot' else '-'} |")
    for m in models:
        if "text" not in m:
            continue
        t = m["text"]
        lines += ["", f"{m['model']}: greedy text of {len(t['prompts'])} prompts, {t['tokens']} tokens. Not the reference's best: "
                  f"Ingot {t['not_best']['ingot']} (by at most {t['largest_below_best']['ingot']:.3f}), llama.cpp "
                  f"{t['not_best']['llama']} (by at most {t['largest_below_best']['llama']:.3f}); noise {t['noise']:.3f}: "
                  f"{word(t['ok'])}.", "", "| prompt | the texts part at token | margin of the reference there | below its "
                  "best: Ingot's | llama.cpp's |", "|---|---|---|---|---|"]
        lines += [f"| {p['prompt']} | {p['at']} | {p['margin']:.4f} | {p['ingot']['below_best']:.4f} | "
                  f"{p['llama']['below_best']:.4f} |" for p in t["partings"]]
        same = [p["prompt"] for p in t["prompts"] if p["engines_part_at"] is None]
        lines += ["", f"The same 64 tokens: {', '.join(same) or 'none'}."]
    return "\n".join(lines)
