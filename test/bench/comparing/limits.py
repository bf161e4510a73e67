"""The machine's limits in the run that is compared, by bench_probe."""
import json

from .process import run

# Larger sets lie in main memory like this one, and the probe's copy need not fill it.
MOST_BYTES = 2 << 30
PEAKS = ("read_gbs", "int8_gops", "fma_gflops", "bf16_gflops")


class Probe:
    def __init__(self, binary):
        self.binary = binary

    def measure(self, threads, working_set, isa):
        """Read bandwidth at the working set's size, and the peaks that the variant's instructions allow."""
        size = max(min(working_set, MOST_BYTES), 1 << 20)
        found = json.loads(run([self.binary, "--threads", threads, "--bytes", size, "--isa", isa]).out)
        return {"bytes": size, **{key: found[key] for key in (*PEAKS, "prefetch")}}


def best(probes):
    """The best of the probes is the limit: other work on the machine only lowers them."""
    return {key: max(p.get(key, 0) for p in probes) for key in ("bytes", *PEAKS)}
