#!/usr/bin/env python3
"""How far is a prediction from the time of one transformer block, forward, that others measured?

usage: predict.py [--aligned]     (after ./dev build; half a minute)
--aligned: only blocks whose heads are a multiple of 8. SHARDLAB: another binary.
Predicts each block of blocks.csv on an A100 by the kernel set megatron-fused, with the numbers that whole trainings were fitted to, and sums up the forward
ops of the middle one of three blocks. Exits with 1 where the aligned ones are more than 3 % off in the mean.
"""
import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHARDLAB = os.environ.get("SHARDLAB", str(HERE.parents[2] / "build/release/bin/shardlab"))
CONFIG = {"gradient_accumulation_steps": 1, "fp16": {"enabled": True}, "optimizer": {"type": "SGD", "params": {"lr": 0.1}}}


def roomy_cluster(path):
    """One A100 with memory for the widest block and its gradients."""
    shown = subprocess.run([SHARDLAB, "show", "cluster", "--cluster", "dgx-a100-40g"], capture_output=True, text=True, check=True).stdout
    cluster = json.loads(shown)
    cluster["device"]["memory_GiB"] = 4000
    path.write_text(json.dumps(cluster))


def forward_seconds(folder, row):
    """Predicted seconds of a block's forward ops."""
    model = {"model_type": "gpt2", "n_embd": int(row["d_model"]), "n_head": int(row["n_heads"]), "n_layer": 3, "vocab_size": 1024,
             "n_positions": int(row["seq_len"])}
    (folder / "model.json").write_text(json.dumps(model))
    (folder / "config.json").write_text(json.dumps(CONFIG | {"train_micro_batch_size_per_gpu": int(row["micro_batch"])}))
    subprocess.run([SHARDLAB, "predict", "--model", folder / "model.json", "--config", folder / "config.json", "--cluster", folder / "cluster.json",
                    "--world", "1", "--seq", row["seq_len"], "--kernels", "megatron-fused", "--attention", "materialised", "--trace",
                    folder / "trace.json"], capture_output=True, text=True, check=True)
    trace = json.loads((folder / "trace.json").read_text())
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    return sum(event["args"]["duration_ns"] * 1e-9 for event in events if event.get("cat") == "forward" and " h.1" in event["name"])


def main():
    only_aligned = "--aligned" in sys.argv[1:]
    if set(sys.argv[1:]) - {"--aligned"}:
        sys.exit(__doc__)
    errors = {"multiple of 8": [], "even": [], "odd": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        roomy_cluster(folder / "cluster.json")
        for row in csv.DictReader((HERE / "blocks.csv").open()):
            head = int(row["d_model"]) // int(row["n_heads"])
            kind = "multiple of 8" if head % 8 == 0 else "even" if head % 2 == 0 else "odd"
            if head < 16 or (only_aligned and kind != "multiple of 8"):
                continue
            seconds, measured = forward_seconds(folder, row), float(row["block_s"])
            errors[kind].append(seconds / measured - 1)
            print(f"{row['d_model']:>6} {head:>4}  measured {1e3 * measured:6.1f} ms  predicted {1e3 * seconds:6.1f} ms  {100 * errors[kind][-1]:+5.1f} %")
    mean = {}
    for kind, of in errors.items():
        if of:
            off = sorted(100 * abs(error) for error in of)
            mean[kind] = sum(off) / len(off)
            print(f"heads {kind}: {len(off)} blocks, mean error {mean[kind]:.1f} % ({sum(off[:-1]) / (len(off) - 1):.1f} without the one furthest off), "
                  f"bias {100 * sum(of) / len(of):+.1f} %, median {off[len(off) // 2]:.1f} %")
    return 1 if mean["multiple of 8"] > 3 else 0


sys.exit(main())
