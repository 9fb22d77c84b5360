#!/usr/bin/env python3
"""Makes tables/mi300x.csv of raw/mi300x.csv: published runs on 8 MI300X, in the columns of table/rows.h.

What the tables of the sources do not say, their logs and scripts do. primus: AMD's Primus on Megatron-Core and
Transformer Engine (rocm/primus:v25.10), whose logs print every argument: distributed optimizer, gathers and reductions
overlapped, gradients reduced in fp32, no recomputation, the loss not fused; attention by AITER forward and, of more
than one sequence, ck_tile backward; products by hipBLASLt. compile: FSDP and torch.compile of PyTorch's own layers in
October 2024, 8 micro-batches a step. Their TFLOP/s count 6 N + 12 layers width tokens a token, N with both embeddings
(llm-train-bench), and are turned into seconds here. Memory is the whole device's, as Primus prints it.
"""
import csv
import pathlib

MODELS = {  # width, heads, key/value heads, inner width, vocabulary
    "llama3-8b": (4096, 32, 8, 14336, 128256), "qwen2.5-7b": (3584, 28, 4, 18944, 151665),
    "llama3-70b": (8192, 64, 8, 28672, 128256),
}
HOW = {
    "primus": {"grad_reduce_dtype": "fp32", "framework": "megatron-core", "overlap_param_gather": 1,
               "framework_version": "2025-11"},
    "compile": {"grad_reduce_dtype": "", "framework": "torchtitan", "overlap_param_gather": 0,
                "framework_version": "2024-10"},
}


def flops_of_token(raw):
    width, heads, kv_heads, inner, vocabulary = MODELS[raw["model"]]
    block = 2 * width * width * (1 + kv_heads / heads) + 3 * width * inner + 2 * width
    layers = int(raw["layers"])
    return 6 * (layers * block + 2 * vocabulary * width + width) + 12 * layers * width * int(raw["seq_len"])


def step_time(raw):
    value, tokens = float(raw["measured"]), int(raw["global_batch_seqs"]) * int(raw["seq_len"])
    return value if raw["unit"] == "s" else flops_of_token(raw) * tokens / int(raw["n_gpus"]) / (value * 1e12)


def row_of(raw):
    width, heads, kv_heads, inner, vocabulary = MODELS[raw["model"]]
    gpus, pp, micro_batch, batch = (int(raw[key]) for key in ("n_gpus", "pp", "micro_batch", "global_batch_seqs"))
    return {
        "set": "mi300x-" + raw["group"], "cluster": "mi300x-8", "gpu": "mi300x", "gpus_per_node": 8, "n_gpus": gpus,
        "arch": "llama", "n_layers": raw["layers"], "d_model": width, "n_heads": heads, "n_kv_heads": kv_heads,
        "d_ff": inner, "vocab_size": vocabulary, "tied_embeddings": 0, "seq_len": raw["seq_len"], "tp": 1, "pp": pp,
        "dp": gpus // pp, "virtual_stages": 1, "micro_batch": micro_batch,
        "grad_accum": batch // (micro_batch * (gpus // pp)), "global_batch_seqs": batch, "precision": raw["precision"],
        "zero_stage": raw["zero_stage"], "sequence_parallel": 0, "recompute": "none", "attention": "flash2",
        "fused_norm": 1, **HOW[raw["group"]], "status": "ok", "step_time_s": f"{step_time(raw):.5g}",
        "mem_gb": f"{float(raw['mem_gib']) * 2**30 / 1e9:.2f}" if raw["mem_gib"] else "", "source": raw["source"],
    }


def main():
    here = pathlib.Path(__file__).parent
    with open(here / "raw/mi300x.csv", newline="") as file:
        raws = list(csv.DictReader(file))
    rows = [{"id": f"mi-{i}-{r['group']}-{r['model']}-n{r['n_gpus']}-{r['precision']}-b{r['micro_batch']}", **row_of(r)}
            for i, r in enumerate(raws, 1)]
    with open(here / "tables/mi300x.csv", "w", newline="") as file:
        out = csv.DictWriter(file, rows[0], lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


if __name__ == "__main__":
    main()
