#!/usr/bin/env python3
"""Rates of matrix products that others measured on GPUs, out of EleutherAI/cookbook, as products.csv.

usage: products.py CHECKOUT > products.csv     (CHECKOUT: a clone of EleutherAI/cookbook that has commit fb3e361)

The files are logs of torch calls, 100 in a row with a host that waits for each (sizing/benchmarks/mm_flops.py and
bmm_flops.py of that commit). They name a product by its sizes in the order m, k, n.
"""
import csv
import re
import subprocess
import sys

COMMIT = "fb3e361"
SWEEPS = [(f"sizing/results/gemm_data/{sweep}/{gpu}.out", gpu)
          for gpu in ("a100", "v100")
          for sweep in ("mm/ksweep_low", "mm/ksweep_high", "bmm/bsweep", "bmm/msweep")]
A100_ONLY = ["vocab_h_sweep", "vocab_v_sweep", "h_sweep"]
FILES = SWEEPS + [(f"sizing/results/transformer_data/{name}.out", "a100") for name in A100_ONLY]
LINE = re.compile(r"Throughput \(in TFLOP/s\) for (?:(\w+) )?\(?([\dx]+)(?:, b=(\d+))?\)?: ([\d.]+)$")


def read(checkout, path):
    shown = subprocess.run(["git", "-C", checkout, "show", f"{COMMIT}:{path}"], capture_output=True, text=True, check=True)
    return shown.stdout


def product(call, sizes, sequences):
    """(batch, m, n, k) of a call. Sizes of one linear layer are tokens x k x n, with as many tokens in each of `sequences`."""
    if len(sizes) == 3:
        m, k, n = sizes
        return 1, m * int(sequences or 1), n, k
    batch, m, k, n = sizes
    return batch, m, n, k


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["gpu", "sweep", "batch", "m", "n", "k", "rate_TFLOPS"])
    for path, gpu in FILES:
        sweep = re.sub(r".*_data/", "", path.removesuffix(".out")).removesuffix(f"/{gpu}")
        for line in read(sys.argv[1], path).splitlines():
            found = LINE.match(line)
            if found:
                call, sizes, sequences, rate = found.groups()
                name = call if call and call != "bmm" else sweep
                out.writerow([gpu, name, *product(call, [int(x) for x in sizes.split("x")], sequences), rate])


main()
