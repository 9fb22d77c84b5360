#!/usr/bin/env python3
"""Makes tables/torchtitan.csv of raw/torchtitan.csv: torchtitan's tables in the columns of table/rows.h.

Models are those of Llama 3.1. Without a pipeline a local batch is one micro-batch; with one it is dealt in as many micro-batches as there
are pipeline ranks (torchtitan at 9dec370: parallelisms/pipelining_utils.py, build_pipeline_schedule, where pipeline_parallel_microbatches
is not given), and "Interleaved" has two stages a rank (generate_split_points). The kind of float8 is tensorwise where a row does not say
rowwise, which is torchao's default. framework_version is the month of the table's commits.
"""
import csv
import pathlib
import re

MODELS = {  # layers, width, heads, inner width; 8 key/value heads, 128256 tokens, untied
    "Llama 3.1 8B": (32, 4096, 32, 14336),
    "Llama 3.1 70B": (80, 8192, 64, 28672),
    "Llama 3.1 405B": (126, 16384, 128, 53248),
}
GPUS = {"H100 96GB HBM2e 500W": ("torchtitan-h100", "h100-sxm-96g"), "H200": ("trainy-h200", "h200-sxm-141g")}


def recipe_of(raw):
    return "" if raw["float8"] != "1" else "rowwise" if "rowwise" in raw["variant"] else "tensorwise"


def row_of(raw, number):
    layers, width, heads, inner = MODELS[raw["model"]]
    cluster, gpu = GPUS[raw["gpu"]]
    pipeline, local = int(raw["pp"]) > 1, int(raw["local_batch"])
    tokens, gpus = int(raw["global_batch_seqs"]) * int(raw["seq_len"]), int(raw["n_gpus"])
    words = re.sub(r"[^a-z0-9]+", "-", raw["variant"].lower()).strip("-")
    name = f"tt-{number}-{raw['model'].split()[-1]}-n{gpus}-{words}" + ("-async" if raw["async_tp"] == "1" else "")
    return {
        "id": name, "set": "torchtitan", "cluster": cluster, "gpu": gpu, "gpus_per_node": 8, "n_gpus": gpus,
        "arch": "llama", "n_layers": layers, "d_model": width, "n_heads": heads, "n_kv_heads": 8, "d_ff": inner,
        "vocab_size": 128256, "tied_embeddings": 0, "seq_len": raw["seq_len"], "tp": raw["tp"], "pp": raw["pp"],
        "dp": raw["fsdp"], "virtual_stages": 2 if "Interleaved" in raw["variant"] else 1, "zero_stage": 3,
        "micro_batch": max(1, local // int(raw["pp"])) if pipeline else local,
        "grad_accum": min(local, int(raw["pp"])) if pipeline else 1,
        "global_batch_seqs": raw["global_batch_seqs"], "sequence_parallel": int(int(raw["tp"]) > 1),
        "recompute": raw["act_ckpt"].split("(")[0], "attention": "flash2", "fused_norm": raw["compile"],
        "precision": "fp8" if raw["float8"] == "1" else "bf16", "grad_reduce_dtype": "fp32", "framework": "torchtitan",
        "cp": raw["cp"], "async_tp": raw["async_tp"], "fp8_recipe": recipe_of(raw),
        "framework_version": "2024-12" if "202412" in raw["source"] else "2025-06",
        "status": "ok", "step_time_s": f"{tokens / gpus / float(raw['tokens_per_s_per_gpu']):.5g}",
        "mem_gb": f"{float(raw['mem_gib']) * 2**30 / 1e9:.2f}" if raw["mem_gib"] else "", "source": raw["source"],
    }


def main():
    here = pathlib.Path(__file__).parent
    with open(here / "raw/torchtitan.csv", newline="") as file:
        rows = [row_of(raw, number) for number, raw in enumerate(csv.DictReader(file), 1)]
    with open(here / "tables/torchtitan.csv", "w", newline="") as file:
        out = csv.DictWriter(file, rows[0], lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


if __name__ == "__main__":
    main()
