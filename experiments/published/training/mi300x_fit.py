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
import math
import sys
import tempfile

from device_fit import HERE, SHARDLAB, Predictor, least, off, rows_of, write

PEAK_TFLOPS = {"fp8": 2614.9, "bf16": 1307.4}
START = {"gemm_efficiency": 0.43, "elementwise_efficiency": 0.5}
FREE = {**START, "attention_efficiency": 0.3}
SOURCE = "fit: experiments/published/training/mi300x_fit.py"
RATES = {"products": "gemm_efficiency", "other": "elementwise_efficiency"}


class Runs(Predictor):
    """The table, the kernels' times, and predictions of both with numbers of the device replaced."""

    def __init__(self, shardlab, folder):
        super().__init__(shardlab, folder, "mi300x-8")
        self.rows = rows_of("mi300x")
        with open(HERE / "raw/mi300x_kernels.csv", newline="") as file:
            kernels = [k for k in csv.DictReader(file) if k["kernels"] in RATES]
        self.kernels = [(self.row_of(k), k["kernels"], float(k["measured_s"])) for k in kernels]
        self.seconds = [float(row["step_time_s"]) for row in self.rows]

    def row_of(self, kernel):
        return next(i for i, row in enumerate(self.rows) if f"-{kernel['model']}-" in row["id"] and all(
            row[key] == kernel[key] for key in ("precision", "micro_batch", "seq_len")))

    def steps(self, numbers):
        return self.predict(self.rows, numbers)

    def missed(self, numbers, kept):
        """Logarithms of predicted over measured: steps of the rows kept, then their kernels."""
        steps = self.steps(numbers)
        rate = {key: numbers.get(key, self.device[key]) for key in RATES.values()}
        slower = {kind: self.steps({**numbers, key: rate[key] / 2}) for kind, key in RATES.items()}
        return [math.log(steps[i] / self.seconds[i]) for i in kept] + [
            math.log((slower[kind][i] - steps[i]) / measured) for i, kind, measured in self.kernels if i in kept]


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
    every = off(runs.steps(numbers), runs.rows)
    missed = [every[i] for i in kept or range(len(every))]
    mean, bias = sum(map(abs, missed)) / len(missed), sum(missed) / len(missed)
    print(f"{name}: mean {mean:.1f} %, bias {bias:+.1f} %:", *(f"{x:+.1f}" for x in missed))


def listed(numbers, errors):
    return ", ".join(f"{key} {numbers[key]:.3g} +- {errors[key]:.2g}" for key in numbers)


def main():
    words = [a for a in sys.argv[1:] if a != "--write"]
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(words[0] if words else SHARDLAB, folder)
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
            numbers = {**half, **numbers}
            write("mi300x", numbers, {**half_error, **errors}, dict.fromkeys(numbers, SOURCE))


if __name__ == "__main__":
    main()
