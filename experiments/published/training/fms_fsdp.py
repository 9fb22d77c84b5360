#!/usr/bin/env python3
"""Makes tables/fms_fsdp.csv of raw/fms_fsdp.csv: fms-fsdp's README in the columns of table/rows.h.

Sequences of 4096 tokens are its default; so are gradients in bf16 (its policy bfSixteen). Its selective checkpointing recomputes every
p-th block, and the README does not say which p: HFU beside MFU tells the share. Two thirds and more of the blocks stand as "full" (the
H100s' 34B and 70B, .87 and .71, are so given more than they did); the rows of 13B, .39 and .21, cannot be expressed. HSDP, which
the table has for 7B, stands as full sharding, whose traffic is predicted to hide behind compute, too.
"""
import csv
import pathlib

MODELS = {  # layers, width, heads, key/value heads, inner width; 32000 tokens, untied
    "Llama2 7B": (32, 4096, 32, 32, 11008),
    "Llama2 34B": (48, 8192, 64, 8, 22016),
    "Llama2 70B": (80, 8192, 64, 8, 28672),
}
GPUS = {"A100-80GB": ("ibm-a100", "a100-sxm-80g"), "H100-80GB": ("ibm-h100", "h100-sxm-80g")}
SEQ_LEN = 4096


def recompute_of(raw):
    share = 3 * (float(raw["hfu_frac"]) / float(raw["mfu_frac"]) - 1)  # of the blocks, a forward being a third of a step
    return "none" if share < 0.05 else "full" if share > 0.65 else None


def row_of(raw):
    layers, width, heads, kv_heads, inner = MODELS[raw["model"]]
    cluster, gpu = GPUS[raw["gpu"]]
    gpus, micro_batch = int(raw["n_gpus"]), int(raw["micro_batch"])
    return {
        "id": f"fms-{raw['model'].split()[-1]}-{raw['gpu'].split('-')[0]}", "set": "fms_fsdp", "cluster": cluster, "gpu": gpu,
        "gpus_per_node": 8, "n_gpus": gpus, "arch": "llama", "n_layers": layers, "d_model": width, "n_heads": heads,
        "n_kv_heads": kv_heads, "d_ff": inner, "vocab_size": 32000, "tied_embeddings": 0, "seq_len": SEQ_LEN, "tp": 1, "pp": 1,
        "dp": gpus, "virtual_stages": 1, "zero_stage": 3, "micro_batch": micro_batch, "grad_accum": 1,
        "global_batch_seqs": micro_batch * gpus, "sequence_parallel": 0, "recompute": recompute_of(raw), "attention": "flash2",
        "fused_norm": 0, "precision": "bf16", "grad_reduce_dtype": "bf16", "framework": "fsdp", "status": "ok",
        "step_time_s": f"{micro_batch * SEQ_LEN / float(raw['tokens_per_s_per_gpu']):.5g}", "mem_gb": "", "source": raw["source"],
    }


def main():
    here = pathlib.Path(__file__).parent
    with open(here / "raw/fms_fsdp.csv", newline="") as file:
        rows = [row_of(raw) for raw in csv.DictReader(file) if recompute_of(raw)]
    with open(here / "tables/fms_fsdp.csv", "w", newline="") as file:
        out = csv.DictWriter(file, rows[0], lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


if __name__ == "__main__":
    main()
