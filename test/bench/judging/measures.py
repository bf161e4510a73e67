"""Losses, divergences and distances to a reference."""

import math

import numpy


def log_softmax(row):
    row = row.astype(numpy.float64)
    row -= row.max()
    return row - math.log(numpy.exp(row).sum())


def statistics_of(samples):
    return {"mean": float(samples.mean()), "standard_error": float(samples.std(ddof=1) / math.sqrt(samples.size))}


def along(ids, greedy, extra):
    """The sequence of prompt and continuation, the positions to compute, and the rows that chose its tokens."""
    first = len(ids) - 1
    chosen = range(first, first + len(greedy))
    positions = sorted({*chosen, *extra})
    return [*ids, *greedy[:-1]], positions, [positions.index(p) for p in chosen]


def ratio_bound(rows):
    """How far two equally good engines' rms may be apart: two standard errors of the ratio over so many rows."""
    return 1 + 2 / math.sqrt(rows)


class Distance:
    """Errors of the reference's likeliest tokens, a row per position."""

    def __init__(self):
        self.logits, self.logprobs = [], []

    def add(self, logits, positions, wanted, arrays, prefix):
        for i, position in enumerate(wanted):
            row = logits[positions.index(position)].astype(numpy.float64)
            top = row.max()
            total = top + math.log(numpy.exp(row - top).sum())
            error = row[arrays[prefix + "top_ids"][i]] - arrays[prefix + "top_logits"][i]
            self.logits.append(error)
            # Without what all tokens have in common, which no probability depends on.
            self.logprobs.append(error - (total - arrays[prefix + "logsumexp"][i]))

    def rms(self, which):
        return float(numpy.sqrt(numpy.mean(numpy.square(getattr(self, which)))))

    def largest(self):
        return float(numpy.abs(self.logits).max())

    def summary(self):
        return {"rms": self.rms("logits"), "largest": self.largest(), "rms_logprob": self.rms("logprobs")}
