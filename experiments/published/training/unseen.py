#!/usr/bin/env python3
"""Makes tables/unseen.csv of raw/unseen.csv: published runs of installations that nothing was fitted to, in the columns of table/rows.h.

What the sources' tables do not say, their configurations do: NVIDIA's runs are NeMo on Megatron-Core and Transformer Engine, with
the distributed optimizer, its gathers and reductions overlapped, gradients reduced in bf16 (grad_sync_dtype), sequence
parallelism beside tp, no recomputation, cuDNN's attention (NVTE_FUSED_ATTN; off for GPT-3 of dgxc-benchmarking v24.11.1 and Nemotron-4 340B of v25.01.1, which recomputes
attention), and
transfers of tp in pieces (ub_tp_comm_overlap; off in Google's). A3 Mega has 8 cards of 200 Gb/s a node. Rows of Megatron Bridge
whose recipes offload activations or recompute some layers are left out. `zero_stage` is of the autotuning runs: transformers 4.12
(November 2021) under DeepSpeed, with GPT-2's own sequences of 1024 tokens and materialised attention, as its code had no other.

One column is a guess in each of: GPT-3 of 5B and 20B (heads of 128), the rest of NeMo's guide and MLPerf (attention), autotuning (the
V100 has 32 GB, as one of 16 in a node does). Proxies of Llama 3.1 405B have its width and fewer layers.
"""
import csv
import pathlib

MODELS = {  # arch, width, heads, key/value heads, inner width, vocabulary, tied
    "gpt3-5b": ("gpt", 4096, 32, 32, 16384, 50257, 1), "gpt3-20b": ("gpt", 6144, 48, 48, 24576, 50257, 1),
    "gpt3-175b": ("gpt", 12288, 96, 96, 49152, 50257, 1),
    "llama2-7b": ("llama", 4096, 32, 32, 11008, 32000, 0), "llama2-13b": ("llama", 5120, 40, 40, 13824, 32000, 0),
    "llama2-70b": ("llama", 8192, 64, 8, 28672, 32000, 0), "llama3-8b": ("llama", 4096, 32, 8, 14336, 128256, 0),
    "llama3-70b": ("llama", 8192, 64, 8, 28672, 128256, 0), "llama3-405b": ("llama", 16384, 128, 8, 53248, 128256, 0),
    "nemotron4-15b": ("nemotron", 6144, 48, 8, 24576, 256000, 0), "nemotron4-340b": ("nemotron", 18432, 96, 8, 73728, 256000, 0),
    "gpt2": ("gpt", 768, 12, 12, 3072, 50257, 1), "gpt2-medium": ("gpt", 1024, 16, 16, 4096, 50257, 1),
    "gpt2-large": ("gpt", 1280, 20, 20, 5120, 50257, 1), "gpt2-xl": ("gpt", 1600, 25, 25, 6400, 50257, 1),
}
GPUS = {"H100": ("dgx-h100", "h100-sxm-80g", 8), "H200": ("dgx-h200", "h200", 8), "B200": ("dgx-b200", "b200", 8),
        "GB200": ("gb200-nvl72", "gb200", 4),
        "GB300": ("gb300-nvl72", "gb300", 4), "V100": ("dgx2-v100", "v100-32g", 16)}
VERSIONS = {"dgxc": "2024-09", "nemotron": "2024-09", "nemotron2505": "2025-04", "bridge": "2025-11", "nemo2412": "2024-12", "mlperf3.0": "2023-05", "google": "2024-07"}


def step_time(raw):
    value, tokens = float(raw["measured"]), int(raw["global_batch_seqs"]) * int(raw["seq_len"])
    if raw["unit"] == "s":
        return value
    return int(raw["global_batch_seqs"]) / value if raw["unit"] == "samples/s" else tokens / int(raw["n_gpus"]) / value


def by_nvidia(raw):
    tp, overlap = int(raw["tp"]) > 1, raw["group"] != "google"
    flash2 = (raw["group"], raw["model"]) in (("dgxc", "gpt3-175b"), ("nemotron", "nemotron4-340b"))
    selective = (raw["group"], raw["model"]) == ("nemotron", "nemotron4-340b")
    return {
        "zero_stage": 1, "sequence_parallel": int(tp), "recompute": "selective" if selective else "none",
        "attention": "flash2" if flash2 else "cudnn", "fused_norm": 1, "grad_reduce_dtype": "bf16", "framework": "nemo",
        "tp_comm_overlap": int(tp and overlap), "overlap_param_gather": 1, "framework_version": VERSIONS[raw["group"]],
    }


def by_deepspeed(raw):
    return {
        "zero_stage": raw["zero_stage"], "sequence_parallel": 0, "recompute": "none", "attention": "materialised", "fused_norm": 0,
        "grad_reduce_dtype": "", "framework": "deepspeed", "tp_comm_overlap": 0, "overlap_param_gather": 0,
        "framework_version": "2021-11",
    }


def row_of(raw):
    arch, width, heads, kv_heads, inner, vocabulary, tied = MODELS[raw["model"]]
    cluster, gpu, per_node = GPUS[raw["gpu"]]
    gpus, tp, pp, cp = (int(raw[key]) for key in ("n_gpus", "tp", "pp", "cp"))
    dp = gpus // (tp * pp * cp)
    how = by_deepspeed(raw) if raw["group"] == "autotuning" else by_nvidia(raw)
    micro_batch, batch = int(raw["micro_batch"]), int(raw["global_batch_seqs"])
    return {
        "set": "unseen-" + raw["group"], "cluster": cluster, "gpu": gpu, "gpus_per_node": per_node, "n_gpus": gpus, "arch": arch,
        "n_layers": raw["layers"], "d_model": width, "n_heads": heads, "n_kv_heads": kv_heads, "d_ff": inner, "vocab_size": vocabulary,
        "tied_embeddings": tied, "seq_len": raw["seq_len"], "tp": tp, "pp": pp, "dp": dp, "virtual_stages": raw["virtual_stages"],
        "micro_batch": micro_batch, "grad_accum": batch // (micro_batch * dp), "global_batch_seqs": batch, "precision": raw["precision"],
        "cp": cp, "node_gbps": 1600 if (raw["group"], raw["gpu"]) == ("google", "H100") else "", **how, "status": "ok",
        "step_time_s": f"{step_time(raw):.5g}", "mem_gb": "", "source": raw["source"],
    }


def write(name, identified):
    """Makes tables/NAME.csv of raw/NAME.csv: `identified` gives the id and the columns of the i-th row."""
    here = pathlib.Path(__file__).parent
    with open(here / f"raw/{name}.csv", newline="") as file:
        rows = [identified(i, raw) for i, raw in enumerate(csv.DictReader(file), 1)]
    with open(here / f"tables/{name}.csv", "w", newline="") as file:
        out = csv.DictWriter(file, rows[0], lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


def main():
    write("unseen", lambda i, r: {
        "id": f"un-{i}-{r['group']}-{r['model']}-{r['gpu']}-n{r['n_gpus']}-{r['precision']}", **row_of(r)})


if __name__ == "__main__":
    main()
