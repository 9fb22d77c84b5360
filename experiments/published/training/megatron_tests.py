#!/usr/bin/env python3
"""Makes tables/megatron_tests.csv of raw/megatron_tests.csv: Megatron-LM's own tests of a model of 12 layers of 512 on 8 GPUs, in the
columns of table/rows.h, and prints how long the same tests take on other hosts.

A layer of this model takes a GPU tens of microseconds, so its steps are the time of the host: of Python, of Transformer Engine's modules
and of the calls of NCCL. Two numbers of the kernel set megatron-core are fitted to them (host_fit.sh). What they take on DGX A100 and on
Grace, over what they take on DGX H100, is host_slowdown of these clusters.

Of the tests those are taken that do not ask for deterministic kernels, whose layout the table can say, and the run before the checkpoint,
not the one that resumes, in another layout maybe. Steps are the median of 21 or 99. They log the norm of the parameters and the
zeros among gradients every step (--log-params-norm, --log-num-zeros-in-grad), which is not predicted.
"""
import csv
import math
import pathlib
import statistics

GPUS = {"dgx-h100": ("h100-sxm-80g", 8), "dgx-a100-80g": ("a100-sxm-80g", 8), "gb200-nvl72": ("gb200", 4)}


def row_of(raw):
    gpu, per_node = GPUS[raw["cluster"]]
    tp, pp, cp = (int(raw[key]) for key in ("tp", "pp", "cp"))
    return {
        "id": f"mt-{gpu.split('-')[0]}-tp{tp}-pp{pp}-cp{cp}", "set": "megatron_tests", "cluster": raw["cluster"], "gpu": gpu,
        "gpus_per_node": per_node, "n_gpus": 8, "arch": "gpt", "n_layers": 12, "d_model": 512, "n_heads": 8, "n_kv_heads": 8, "d_ff": 2048,
        "vocab_size": 50257, "tied_embeddings": 1, "seq_len": 1024, "tp": tp, "pp": pp, "cp": cp, "dp": 8 // (tp * pp * cp),
        "virtual_stages": 1, "zero_stage": raw["distributed_optimizer"], "micro_batch": 4, "grad_accum": tp * pp * cp,
        "global_batch_seqs": 32, "sequence_parallel": raw["sequence_parallel"], "recompute": "none", "attention": "flash2",
        "fused_norm": 1, "precision": "bf16", "grad_reduce_dtype": "", "framework": "megatron", "framework_version": "2026-08",
        "status": "ok", "step_time_s": raw["median_iteration_s"], "mem_gb": "", "source": raw["source"],
    }


def slowdown(rows, cluster):
    """The geometric mean over tests of a step's time there over that on DGX H100, and its standard error."""
    there, here = ({row["test"]: float(row["median_iteration_s"]) for row in rows if row["cluster"] == name} for name in (cluster, "dgx-h100"))
    ratios = [math.log(there[test] / here[test]) for test in here]
    mean = math.exp(statistics.mean(ratios))
    return mean, mean * statistics.stdev(ratios) / math.sqrt(len(ratios))


def main():
    here = pathlib.Path(__file__).resolve().parent
    with open(here / "raw/megatron_tests.csv", newline="") as file:
        raw = list(csv.DictReader(file))
    with open(here / "tables/megatron_tests.csv", "w", newline="") as file:
        out = csv.DictWriter(file, row_of(raw[0]), lineterminator="\n")
        out.writeheader()
        out.writerows(map(row_of, raw))
    for cluster in ("dgx-a100-80g", "gb200-nvl72"):
        print("host_slowdown of {}: {:.3f} +- {:.3f}".format(cluster, *slowdown(raw, cluster)))


main()
