#!/usr/bin/env python3
"""How much slower products are whose rows tensor cores cannot load at once, on GPUs that `calibrate` has measured.

usage: own.py experiments/records/*

Medians of the rates of bf16 products of 20 GFLOP or more on one rank, by what divides all their rows; at last the geometric mean of the records.
"""
import gzip
import json
import statistics
import sys
from pathlib import Path


def rows_of(point):
    """Lengths of the rows of both operands, as they are stored, and of the result, as one number: see cost/gemm.h."""
    m, n, k = point["shape"][:3]
    variant = point.get("variant", "plain")
    a, b = variant.startswith(("trans_a", "trans_ab")), variant.startswith(("trans_b", "trans_ab"))
    return (m if a else k) | (k if b else n) | n


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    slower = []
    for record in map(Path, sys.argv[1:]):
        points = json.load(gzip.open(record / "measure/profile/profile.fit/points.json.gz"))["points"]
        rates = {"aligned": [], "even": [], "odd": []}
        for point in points:
            if (point["op"], point["dtype"], point["ranks"]) != ("gemm", "bf16", 1):
                continue
            m, n, k = point["shape"][:3]
            if 2 * m * n * k < 2e10:
                continue
            rows = rows_of(point)
            kind = "aligned" if rows % 8 == 0 else "even" if rows % 2 == 0 else "odd"
            rates[kind].append(2 * m * n * k / point["median_s"] / 1e12)
        if not all(rates.values()):
            print(f"{record.name}: no products in bf16 with such rows")
            continue
        median = {kind: statistics.median(of) for kind, of in rates.items()}
        slower.append([median["aligned"] / median[kind] for kind in ("even", "odd")])
        print(f"{record.name}: " + ", ".join(f"{len(rates[kind])} {kind} {median[kind]:.0f} TFLOP/s" for kind in median)
              + ": even {:.1f} and odd {:.1f} times as slow".format(*slower[-1]))
    if slower:
        print("mean: even {:.1f} and odd {:.1f} times as slow".format(*map(statistics.geometric_mean, zip(*slower))))


main()
