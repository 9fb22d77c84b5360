#!/usr/bin/env python3
"""One number a device of Blackwell: the share that training keeps of the best rates that others measured.

usage: share_fit.py [SHARDLAB] [--write]

gemm_efficiency and cuDNN's two of B200, GB200 and GB300 are a source's best rate times one share, 0.84 on Hopper. The
share of each device is fitted to the logarithms of the step times of its rows in tables/nvidia.csv, by least squares
with Huber's weights; its standard error is of the scatter that remains. The best of GB300, for which no source is
known, are GB200's: what it gains by its power is in its share. The rows of Blackwell in tables/unseen.csv are never
fitted: they say what the share is worth. --write puts the numbers into profiles/devices. B300, of which the tables have
no row, gets a share midway between B200's and GB300's, where its steps of Nemotron 3 in MXFP8 lie (Megatron Bridge
26.02, which are not in the tables).
"""
import math
import sys
import tempfile

from device_fit import SHARDLAB, Predictor, least, off, rows_of, write

HOPPER = 0.84
PEAK_TFLOPS = {"b200": 2250, "b300": 2250, "gb200": 2500, "gb300": 2500}
BEST_TFLOPS = {"b200": 1745.0, "b300": 1769.0, "gb200": 1822.0, "gb300": 1822.0}  # stas00/ml-engineering
BEST_CUDNN = {"cudnn_forward_efficiency": 0.714, "cudnn_backward_efficiency": 0.583}  # NVIDIA/cudnn-frontend, GB200
CLUSTERS = {"b200": "dgx-b200", "gb200": "gb200-nvl72", "gb300": "gb300-nvl72"}


def rates(device, share):
    best = {"gemm_efficiency": BEST_TFLOPS[device] / PEAK_TFLOPS[device], **BEST_CUDNN}
    return {key: share * value for key, value in best.items()}


def mean(values):
    return sum(values) / len(values)


def told(name, predictor, rows, shares):
    found = [off(predictor.predict(rows, numbers), rows) for numbers in shares]
    print(f"  {name}, {len(rows)} rows:", " -> ".join(
        f"mean {mean(list(map(abs, e))):.1f} % (bias {mean(e):+.1f})" for e in found), "|",
        *(f"{x:+.1f}" for x in found[-1]))
    return found


def fit(device, shardlab, folder):
    """{share}, its standard error, and errors of the rows that are not fitted, before and after."""
    predictor = Predictor(shardlab, folder, CLUSTERS[device])
    fitted, unseen = ([row for row in rows_of(table) if row["cluster"] == CLUSTERS[device]]
                      for table in ("nvidia", "unseen"))
    seconds = [float(row["step_time_s"]) for row in fitted]
    number, error = least(lambda n: [math.log(p / s) for p, s in zip(
        predictor.predict(fitted, rates(device, n["share"])), seconds)], {"share": HOPPER})
    share, stderr = number["share"], error["share"]
    print(f"{device}: {len(fitted)} rows, share {share:.3f} +- {stderr:.3f}")
    both = rates(device, HOPPER), rates(device, share)
    told("fitted", predictor, fitted, both)
    return share, stderr, told("unseen.csv", predictor, unseen, both)


def sources(device, share, guess):
    kept = f"{share:.3f} of it, {guess or 'what its training keeps: experiments/published/training/share_fit.py'}"
    product = (f"stas00/ml-engineering, accelerator README, {BEST_TFLOPS[device]} of {PEAK_TFLOPS[device]} TFLOPS at "
               f"best{' by a GB200' if device == 'gb300' else ''}")
    cudnn = ("NVIDIA/cudnn-frontend, benchmark/sdpa_benchmark_training, cuDNN 9.22 on a GB200: causal, 64 and 8 heads "
             "of 128, 2048 to 16384 tokens")
    words = {"gemm_efficiency": product, **dict.fromkeys(BEST_CUDNN, cudnn)}
    return {key: f"{'guess' if guess else 'fit'}: {text}; {kept}" for key, text in words.items()}


def put(device, share, stderr=None, guess=""):
    """Writes a device's rates, with standard errors where its own rows told the share."""
    numbers = rates(device, share)
    errors = {key: value * stderr / share for key, value in numbers.items()} if stderr else {}
    write(device, numbers, errors, sources(device, share, guess))


def main():
    words = [a for a in sys.argv[1:] if a != "--write"]
    shares, before, after = {}, [], []
    with tempfile.TemporaryDirectory() as folder:
        for device in CLUSTERS:
            share, stderr, (was, now) = fit(device, words[0] if words else SHARDLAB, folder)
            shares[device], before, after = (share, stderr), before + was, after + now
    was, now = (mean(list(map(abs, e))) for e in (before, after))
    print(f"unseen.csv, {len(before)} rows of Blackwell: mean {was:.2f} % at {HOPPER}, {now:.2f} % at the shares")
    if now >= was:
        sys.exit("rows that were never fitted did not gain: nothing is written")
    if "--write" in sys.argv:
        for device in CLUSTERS:
            put(device, *shares[device])
        put("b300", (shares["b200"][0] + shares["gb300"][0]) / 2, guess="midway between B200's share and GB300's")


if __name__ == "__main__":
    main()
