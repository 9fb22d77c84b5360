#!/usr/bin/env python3
"""Times of Megatron-LM's transformer block, forward, on an A100, out of EleutherAI/cookbook, as blocks.csv.

usage: extract.py CHECKOUT > blocks.csv     (CHECKOUT: a clone of EleutherAI/cookbook that has commit fb3e361)

Its log has each width once for each tensor_mp_size, which nothing was split by (their times are the same): the first is taken.
"""
import re
import subprocess
import sys

PATH = "fb3e361:sizing/results/transformer_data/tensor_parallel_h_sweep.out"
HEAD = re.compile(r"num_attention_heads: (\d+), hidden_size: (\d+), train_micro_batch_size_per_gpu: (\d+), tensor_mp_size: 1,")
PARTS = {"Attention": "attention_s", "MLP": "mlp_s", "Transformer": "block_s"}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    log = subprocess.run(["git", "-C", sys.argv[1], "show", PATH], capture_output=True, text=True, check=True).stdout
    print("n_heads,d_model,micro_batch,seq_len," + ",".join(PARTS.values()))
    for entry in log.split("=" * 120):
        head = HEAD.search(entry)
        times = dict(re.findall(r"(\w+) duration \(in seconds\): ([\d.]+)", entry))
        if head and all(part in times for part in PARTS):
            print(",".join([*head.groups(), "2048", *(times[part] for part in PARTS)]))


main()
