#!/usr/bin/env python3
"""Three numbers of MI300X from published runs: two fitted to steps, one to single products.

usage: mi300x_fit.py [SHARDLAB] [--write]

gemm_half_GFLOP is that of raw/mi300x_products.csv, where a product of F attains a share e F / (F + half) of the peak.
gemm_efficiency and elementwise_efficiency are fitted to the logarithm of the 10 step times of tables/mi300x.csv and of
what 2 profiled steps spent in products and in what is neither product nor attention (raw/mi300x_kernels.csv), by least
squares with Huber's weights; standard errors are of the scatter that remains. What the kernels of a kind take is what
halving their rate adds to a step. `shardlab-analyze refit` does not know kernels' times, and fits GPUs by the
multiprocessors that NVIDIA's profiles give. --write puts the numbers into profiles/devices/mi300x.json.
"""
import csv
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
DEVICE = ROOT / "profiles/devices/mi300x.json"
PEAK_TFLOPS = {"fp8": 2614.9, "bf16": 1307.4}
START = {"gemm_efficiency": 0.43, "elementwise_efficiency": 0.5}
FREE = {**START, "attention_efficiency": 0.3}
RATES = {"products": "gemm_efficiency", "other": "elementwise_efficiency"}
CLIP = 0.1


class Runs:
    """The table, the kernels' times, and predictions of both with numbers of the device replaced."""

    def __init__(self, shardlab, folder):
        self.shardlab, self.folder = shardlab, pathlib.Path(folder)
        with open(HERE / "tables/mi300x.csv", newline="") as file:
            self.rows = list(csv.DictReader(file))
        with open(HERE / "raw/mi300x_kernels.csv", newline="") as file:
            kernels = [k for k in csv.DictReader(file) if k["kernels"] in RATES]
        self.kernels = [(self.row_of(k), k["kernels"], float(k["measured_s"])) for k in kernels]
        self.cluster = json.loads((ROOT / "profiles/mi300x-8.json").read_text())
        self.device = json.loads(DEVICE.read_text())["device"]
        self.seconds = [float(row["step_time_s"]) for row in self.rows]

    def row_of(self, kernel):
        return next(i for i, row in enumerate(self.rows) if f"-{kernel['model']}-" in row["id"] and all(
            row[key] == kernel[key] for key in ("precision", "micro_batch", "seq_len")))

    def predict(self, numbers):
        cluster = {**self.cluster, "device": {**self.device, **numbers}}
        (self.folder / "cluster.json").write_text(json.dumps(cluster))
        with open(self.folder / "rows.csv", "w", newline="") as file:
            rows = csv.DictWriter(file, self.rows[0])
            rows.writeheader()
            rows.writerows({**row, "cluster": self.folder / "cluster.json"} for row in self.rows)
        table, out = self.folder / "rows.csv", self.folder / "out.csv"
        subprocess.run([self.shardlab, "predict", "--table", table, "--out", out], check=True, capture_output=True)
        with open(out, newline="") as file:
            return [float(row["predicted_step_time_s"]) for row in csv.DictReader(file)]

    def missed(self, numbers, kept):
        """Logarithms of predicted over measured: steps of the rows kept, then their kernels."""
        steps = self.predict(numbers)
        rate = {key: numbers.get(key, self.device[key]) for key in RATES.values()}
        slower = {kind: self.predict({**numbers, key: rate[key] / 2}) for kind, key in RATES.items()}
        return [math.log(steps[i] / self.seconds[i]) for i in kept] + [
            math.log((slower[kind][i] - steps[i]) / measured) for i, kind, measured in self.kernels if i in kept]


def solve(a, b):
    """Gauss and Jordan's elimination of a symmetric positive system."""
    m = [row[:] + [y] for row, y in zip(a, b)]
    for i in range(len(b)):
        m[i] = [x / m[i][i] for x in m[i]]
        for k in range(len(b)):
            if k != i:
                m[k] = [x - m[k][i] * y for x, y in zip(m[k], m[i])]
    return [row[-1] for row in m]


def least(missed, numbers):
    """{key: value}, {key: standard error}: Gauss and Newton's steps in the logarithms of the numbers."""
    keys, step = list(numbers), 0.02
    for _ in range(15):
        r = missed(numbers)
        moved = [missed({**numbers, key: numbers[key] * math.exp(step)}) for key in keys]
        columns = [[(y - x) / step for x, y in zip(r, m)] for m in moved]
        w = [min(1, CLIP / abs(x)) if x else 1 for x in r]
        a = [[sum(map(lambda u, x, y: u * x * y, w, c, d)) for d in columns] for c in columns]
        move = solve(a, [-sum(map(lambda u, x, y: u * x * y, w, c, r)) for c in columns])
        numbers = {key: numbers[key] * math.exp(max(-0.5, min(0.5, m))) for key, m in zip(keys, move)}
        if max(map(abs, move)) < 1e-4:
            break
    variance = sum(map(lambda u, x: u * x * x, w, r)) / (len(r) - len(keys))
    errors = [solve(a, [float(i == k) for i in range(len(keys))])[k] for k in range(len(keys))]
    return numbers, {key: numbers[key] * math.sqrt(variance * e) for key, e in zip(keys, errors)}


def of_products():
    """The share of their peak that large products attain and the size of those that attain half of it."""
    with open(HERE / "raw/mi300x_products.csv", newline="") as file:
        rows = [(2e-9 * int(r["m"]) * int(r["n"]) * int(r["k"]), float(r["TFLOPS"]) / PEAK_TFLOPS[r["precision"]])
                for r in csv.DictReader(file)]
    return least(lambda n: [math.log(n["share"] * f / (f + n["gemm_half_GFLOP"]) / attained) for f, attained in rows],
                 {"share": 0.5, "gemm_half_GFLOP": 30})


def fit(runs, kept, start):
    return least(lambda numbers: runs.missed(numbers, kept), dict(start))


def told(runs, numbers, name, kept=None):
    off = [100 * (p / t - 1) for p, t in zip(runs.predict(numbers), runs.seconds)]
    off = [off[i] for i in kept or range(len(off))]
    mean, bias = sum(map(abs, off)) / len(off), sum(off) / len(off)
    print(f"{name}: mean {mean:.1f} %, bias {bias:+.1f} %:", *(f"{x:+.1f}" for x in off))


def listed(numbers, errors):
    return ", ".join(f"{key} {numbers[key]:.3g} +- {errors[key]:.2g}" for key in numbers)


def write(numbers, errors):
    text = DEVICE.read_text()
    for key in numbers:
        now = (f'"{key}": {numbers[key]:.3g}, "{key}_source": "fit: experiments/published/training/mi300x_fit.py", '
               f'"{key}_stderr": {errors[key]:.2g}')
        text = re.sub(rf'"{key}": [^"]*"{key}_source": "[^"]*"(, "{key}_stderr": [\d.e-]+)?', now, text)
    DEVICE.write_text(text)


def main():
    words = [a for a in sys.argv[1:] if a != "--write"]
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(words[0] if words else ROOT / "build/release/bin/shardlab", folder)
        every = list(range(len(runs.rows)))
        told(runs, {}, "as the profile is")
        products, errors = of_products()
        print("products:", listed(products, errors))
        half = {"gemm_half_GFLOP": products["gemm_half_GFLOP"]}
        half_error = {key: errors[key] for key in half}
        runs.device.update(half)
        numbers, errors = fit(runs, every, START)
        print("fitted:", listed(numbers, errors))
        told(runs, numbers, "fitted")
        for model in ("llama3-8b", "qwen2.5-7b", "llama3-70b"):
            held = [i for i in every if f"-{model}-" in runs.rows[i]["id"]]
            told(runs, fit(runs, [i for i in every if i not in held], START)[0], f"{model} held out", held)
        free = fit(runs, every, FREE)
        print("with attention:", listed(*free))
        told(runs, free[0], "with attention")
        if "--write" in sys.argv:
            write({**half, **numbers}, {**half_error, **errors})


if __name__ == "__main__":
    main()
