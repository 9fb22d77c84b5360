#!/usr/bin/env python3
"""Jobs whose throughput others published without saying every choice, predicted over the choices that they left open.

    scaling.py jobs NAME CSV            writes the rows that `shardlab predict --table` is to predict
    scaling.py tables NAME CSV OUT DIR  reads them and their predictions; writes DIR/NAME.csv and Markdown on standard output

A published row gives the model, the GPUs and some of the layout. Of what it leaves open (micro-batch, stages a pipeline rank),
every legal value of a short list is predicted, and the fastest that fits in memory stands in the table, as a user would pick it.
What is measured is never read before that.
"""
import csv
import pathlib
import sys

RAW = pathlib.Path(__file__).resolve().parent.parent / "training/raw"
COLUMNS = ("id,cluster,gpu,gpus_per_node,n_gpus,arch,n_layers,d_model,n_heads,n_kv_heads,d_ff,vocab_size,tied_embeddings,seq_len,"
           "tp,pp,dp,virtual_stages,zero_stage,micro_batch,grad_accum,global_batch_seqs,sequence_parallel,recompute,attention,"
           "fused_norm,precision,grad_reduce_dtype,framework,tp_comm_overlap,overlap_param_gather").split(",")


def raw(name):
    with open(RAW / name, newline="") as file:
        return list(csv.DictReader(file))


# arXiv:2104.04473, table 1: heads, tensor and pipeline sizes beside what the raw table has.
SC21 = {"1.7B": (24, 1, 1), "3.6B": (32, 2, 1), "7.5B": (32, 4, 1), "18B": (48, 8, 1), "39B": (64, 8, 2), "76B": (80, 8, 4),
        "145B": (96, 8, 8), "310B": (128, 8, 16), "530B": (128, 8, 35), "1T": (160, 8, 64)}


def weak():
    """Megatron-LM's two tables of weak scaling. The first recomputes all and has materialised attention with a fused softmax; the
    second has the distributed optimizer, sequence parallelism, cuDNN's attention (Transformer Engine's choice on an H100) and no
    recomputation, of which its README says nothing."""
    for r in raw("megatron_sc21_a100_weak_scaling.csv"):
        heads, tp, pp = SC21[r["model_size"]]
        yield dict(name=f"A100 {r['model_size']}", cluster="selene-a100", gpu="a100-sxm-80g", arch="gpt", n_layers=r["n_layers"],
                   d_model=r["d_model"], n_heads=heads, d_ff=4 * int(r["d_model"]), vocab_size=r["vocab_size"], seq_len=r["seq_len"],
                   n_gpus=r["n_gpus"], tp=tp, pp=pp, global_batch_seqs=r["global_batch_seqs"], sequence_parallel=0, zero_stage=0,
                   recompute="full", attention="materialised_fused_softmax", precision="fp16", framework="megatron",
                   tflops=r["tflops_per_gpu"], recomputed=1)
    for r in raw("megatron_readme_h100_weak_scaling.csv"):
        yield dict(megatron_h100(r), name=f"H100 {r['model_size']}", n_gpus=r["n_gpus"], global_batch_seqs=r["global_batch_seqs"],
                   tflops=r["tflops_per_gpu"])


def megatron_h100(r):
    """Megatron-LM's README at 0010ab7: "We perform fine-grained overlapping of data-parallel (--overlap-grad-reduce
    --overlap-param-gather), tensor-parallel (--tp-comm-overlap) and pipeline-parallel communication (enabled by default)"."""
    return dict(cluster="dgx-h100", gpu="h100-sxm-80g", arch="gpt", n_layers=r["n_layers"], d_model=r["d_model"],
                n_heads=r["n_heads"], d_ff=4 * int(r["d_model"]), vocab_size=r["vocab_size"], seq_len=r["seq_len"], tp=r["tp"],
                pp=r["pp"], sequence_parallel=int(int(r["tp"]) > 1), zero_stage=1, recompute="none", attention="cudnn",
                precision="bf16", framework="megatron", recomputed=0, overlap_param_gather=1, tp_comm_overlap=int(int(r["tp"]) > 1))


# Megatron-LM's README: GPT-3 of 175B, 1152 sequences a step, on 96 to 4608 H100; "a reduction in MFU from 47% to 42%".
STRONG = {96: 47, 192: None, 384: None, 768: None, 1536: None, 2304: None, 4608: 42}


def strong():
    model = next(r for r in raw("megatron_readme_h100_weak_scaling.csv") if r["model_size"] == "177B")
    for gpus, mfu in STRONG.items():
        yield dict(megatron_h100(model), name=f"{gpus} H100", n_gpus=gpus, global_batch_seqs=1152,
                   tflops=f"{mfu / 100 * 989.4:.1f}" if mfu else "")


NAMES = {"scaling_weak": weak, "scaling_strong": strong}
MICRO_BATCHES, VIRTUAL_STAGES = (1, 2, 4, 8), (1, 2, 3, 4, 6, 8)


def stages_of(layers):
    """What divides a pipeline rank's layers; where that is 1 alone, one layer a stage, too."""
    listed = [v for v in VIRTUAL_STAGES if layers % v == 0]
    return listed if len(listed) > 1 else [1, layers]


def choices(job):
    """The rows of a job, one for each micro-batch and number of stages a rank that divide it."""
    dp = int(job["n_gpus"]) // (int(job["tp"]) * int(job["pp"]))
    of_rank, pp = int(job["global_batch_seqs"]) // dp, int(job["pp"])
    for micro in MICRO_BATCHES:
        for virtual in stages_of(int(job["n_layers"]) // pp) if pp > 1 else (1,):
            if of_rank % micro or (virtual > 1 and of_rank // micro % pp):
                continue
            row = {c: job.get(c, "") for c in COLUMNS}
            row.update(id=f"{job['name']} mb{micro} v{virtual}".replace(" ", "-"), gpus_per_node=8, dp=dp, micro_batch=micro,
                       grad_accum=of_rank // micro, virtual_stages=virtual, fused_norm=1)
            yield row


def model_flops(job):
    """Of a step: 6 for each parameter of a product and token, and causal attention's; arXiv:2104.04473, equation 3, without what
    is computed again, or with it where the published figure counts it."""
    h, layers, s = int(job["d_model"]), int(job["n_layers"]), int(job["seq_len"])
    heads, kv = int(job["n_heads"]), int(job.get("n_kv_heads") or job["n_heads"])
    products = 2 * h * h * (1 + kv / heads) + (3 if job["arch"] == "llama" else 2) * h * int(job["d_ff"])
    times = 8 if job["recomputed"] else 6
    block = times * products + times * 2 * s * h  # whole squares of scores, as the sources count them
    return int(job["global_batch_seqs"]) * s * (layers * block + 6 * h * int(job["vocab_size"]))


def write_jobs(name, path):
    with open(path, "w", newline="") as file:
        out = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        out.writeheader()
        for job in NAMES[name]():
            out.writerows(choices(job))


def best_of(job, predicted):
    """The fastest choice that fits; of those that do not, the smallest."""
    rows = [(row, predicted[row["id"]]) for row in choices(job)]
    rows = [(row, p) for row, p in rows if not p["error"]]
    fits = [(row, p) for row, p in rows if p["predicted_fits"] in ("1", "true")]
    if fits:
        return min(fits, key=lambda pair: float(pair[1]["predicted_step_time_s"]))
    return min(rows, key=lambda pair: float(pair[1]["predicted_mem_gb"])) if rows else None


def compared(name, out_csv):
    with open(out_csv, newline="") as file:
        predicted = {row["id"]: row for row in csv.DictReader(file)}
    for job in NAMES[name]():
        best = best_of(job, predicted)
        if best is None:
            raise SystemExit(f"{name}: no choice of {job['name']} was predicted: "
                             + next(predicted[row["id"]]["error"] for row in choices(job)))
        row, p = best
        step, number = float(p["predicted_step_time_s"]), lambda key: float(p[key] or 0)
        tflops = model_flops(job) / step / int(job["n_gpus"]) / 1e12
        measured = float(job["tflops"]) if job["tflops"] != "" else None
        yield {"job": job["name"], "gpus": job["n_gpus"], "tp": job["tp"], "pp": job["pp"], "dp": row["dp"],
               "micro_batch": row["micro_batch"], "virtual_stages": row["virtual_stages"], "fits": p["predicted_fits"],
               "memory_GB": f"{number('predicted_mem_gb'):.1f}", "step_time_s": f"{step:.3f}", "predicted_TFLOPS": f"{tflops:.0f}",
               "published_TFLOPS": f"{measured:.0f}" if measured else "",
               "error_percent": f"{100 * (measured / tflops - 1):+.1f}" if measured else "",
               "compute_s": f"{number('compute_s'):.3f}", "bubble_s": f"{number('bubble_s'):.3f}",
               "exposed_s": f"{number('exposed_tp_s') + number('exposed_dp_s') + number('exposed_pp_s'):.3f}"}


def write_tables(name, out_csv, folder):
    rows = list(compared(name, out_csv))
    with open(pathlib.Path(folder) / f"{name}.csv", "w", newline="") as file:
        out = csv.DictWriter(file, rows[0], lineterminator="\n")
        out.writeheader()
        out.writerows(rows)
    shown = [c for c in rows[0] if c not in ("compute_s", "bubble_s", "exposed_s")]
    print("| " + " | ".join(c.replace("_", " ") for c in shown) + " |\n" + "|---" * len(shown) + "|")
    for row in rows:
        print("| " + " | ".join(str(row[c]) for c in shown) + " |")


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "jobs" and sys.argv[2] in NAMES:
        write_jobs(*sys.argv[2:])
    elif len(sys.argv) == 5 and sys.argv[1] == "tables" and sys.argv[2] in NAMES:
        write_tables(sys.argv[2], sys.argv[3], sys.argv[4])
    else:
        raise SystemExit(f"usage: scaling.py jobs NAME CSV, or scaling.py tables NAME CSV DIR; NAME is one of {', '.join(NAMES)}")
