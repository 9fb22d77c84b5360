"""Strategies compared, from predictions made here: strategy.csv and Markdown on standard output.

    tables.py SHARDLAB OUT
"""
import csv
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
GIB = 2**30
MEMORY = 80 * GIB - 3 * GIB // 2  # what an 80 GiB device has beside CUDA, cuBLAS and NCCL
HOST = 2 * 10**12 // 8  # a GPU's share of the 2 TB of a DGX A100 640GB (NVIDIA's data sheet)
# name, layers, width, heads: the models of Megatron-LM's and GPT-3's papers, from small to large
LADDER = [("0.35B", 24, 1024, 16), ("0.76B", 24, 1536, 16), ("1.3B", 24, 2048, 16), ("2.7B", 32, 2560, 32),
          ("6.7B", 32, 4096, 32), ("13B", 40, 5120, 40), ("18B", 40, 6144, 48), ("30B", 48, 7168, 56),
          ("39B", 48, 8192, 64), ("76B", 60, 10240, 80), ("145B", 80, 12288, 96), ("175B", 96, 12288, 96),
          ("310B", 96, 16384, 128), ("530B", 105, 20480, 128), ("1T", 128, 25600, 160)]
OFFLOAD = {"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu", "pin_memory": True}}}
# what it is, flags, keys of the config
STRATEGIES = {
    8: [("data parallel", ["--zero-stage", "0"], {}), ("ZeRO-1", ["--zero-stage", "1"], {}),
        ("ZeRO-2", ["--zero-stage", "2"], {}), ("ZeRO-3", ["--zero-stage", "3"], {}),
        ("ZeRO-3 + optimizer on the host", [], OFFLOAD),
        ("tensor parallel 8", ["--tp", "8", "--sequence-parallel"], {}),
        ("pipeline 8", ["--pp", "8"], {}),
        ("tensor 4 x pipeline 2", ["--tp", "4", "--pp", "2", "--sequence-parallel"], {})],
    64: [("data parallel", ["--zero-stage", "0"], {}), ("ZeRO-1", ["--zero-stage", "1"], {}),
         ("ZeRO-2", ["--zero-stage", "2"], {}), ("ZeRO-3", ["--zero-stage", "3"], {}),
         ("ZeRO-3 in a node x 8 replicas", ["--zero-stage", "3", "--shard-size", "8"], {}),
         ("tensor 8 x data 8", ["--tp", "8", "--sequence-parallel"], {}),
         ("tensor 8 x data 8 + ZeRO-1", ["--tp", "8", "--sequence-parallel", "--zero-stage", "1"], {}),
         ("tensor 8 x pipeline 8", ["--tp", "8", "--pp", "8", "--sequence-parallel"], {}),
         ("tensor 8 x pipeline 4 x data 2 + ZeRO-1", ["--tp", "8", "--pp", "4", "--sequence-parallel", "--zero-stage", "1"], {}),
         ("tensor 8 x data 8 + ZeRO-3", ["--tp", "8", "--sequence-parallel", "--zero-stage", "3"], {})],
}


def predict(shardlab, out, world, flags, keys, model):
    _, layers, width, heads = model
    with open(f"{out}/model.json", "w") as f:
        json.dump({"model_type": "gpt2", "vocab_size": 51200, "n_positions": 2048, "n_layer": layers, "n_embd": width,
                   "n_head": heads, "embd_pdrop": 0, "attn_pdrop": 0, "resid_pdrop": 0}, f)
    with open(f"{HERE}/ds_bf16.json") as f:
        config = {**json.load(f), **keys}
    with open(f"{out}/config.json", "w") as f:
        json.dump(config, f)
    run = subprocess.run([shardlab, "predict", "--model", f"{out}/model.json", "--config", f"{out}/config.json", "--cluster",
                          "dgx-a100-80g", "--world", str(world), "--recompute", "full", "--quiet", "--json", "-", *flags],
                         capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{' '.join(run.args)}\n{run.stderr}")
    return json.loads(run.stdout)


def peak(record):
    return record["memory"]["device"]["peak_bytes"]


def sent(record):
    """Bytes that the busiest rank puts on the wire in a step, and of them the part that stays in its node."""
    return max(r["wire_bytes"] for r in record["ranks"])


def feasible(model, flags):
    options = dict(zip(flags, flags[1:] + [""]))
    tp, pp = int(options.get("--tp", 1)), int(options.get("--pp", 1))
    return model[3] % tp == 0 and model[1] >= pp


def largest(shardlab, out, world, flags, keys):
    """Of the ladder, the largest that fits and its prediction. Memory grows with every rung, so halving finds it."""
    rungs = [m for m in LADDER if feasible(m, flags)]
    low, high, best = 0, len(rungs), (None, None)
    while low < high:
        middle = (low + high) // 2
        record = predict(shardlab, out, world, flags, keys, rungs[middle])
        if peak(record) <= MEMORY and record["memory"]["host"]["peak_bytes"] <= HOST:
            best, low = (rungs[middle][0], record), middle + 1
        else:
            high = middle
    return best


def row_of(shardlab, out, world, strategy):
    name, flags, keys = strategy
    same = predict(shardlab, out, world, flags, keys, LADDER[2])
    state = same["memory"]["device"]["by_category"]
    fits, record = largest(shardlab, out, world, flags, keys)
    return {"ranks": world, "strategy": name, "parameter_GiB": state["parameter"] / GIB, "gradient_GiB": state["gradient"] / GIB,
            "optimizer_GiB": state["optimizer"] / GIB, "activation_GiB": state["activation"] / GIB,
            "communication_GiB": (state["communication"] + state["workspace"] + state["fragmentation"]) / GIB,
            "peak_GiB": peak(same) / GIB, "host_GiB": same["memory"]["host"]["peak_bytes"] / GIB, "sent_GiB": sent(same) / GIB,
            "exposed_s": same["breakdown_s"]["exposed_total"], "bubble_s": same["breakdown_s"].get("bubble", 0.0),
            "step_s": same["step_time_s"], "mfu_percent": 100 * same["mfu"], "largest": fits,
            "largest_billion": record["plan"]["parameters"] / 1e9, "largest_peak_GiB": peak(record) / GIB,
            "largest_mfu_percent": 100 * record["mfu"]}


def main():
    shardlab, out = sys.argv[1:]
    rows = [row_of(shardlab, out, world, s) for world in STRATEGIES for s in STRATEGIES[world]]
    with open(f"{out}/strategy.csv", "w", newline="") as f:
        writer = csv.DictWriter(f, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)
    for world in STRATEGIES:
        print(f"\n**{world} A100s of 80 GiB: GPT-3 1.3B, 64 sequences of 2048 a step; and the largest model that fits**\n")
        print("| strategy | memory a GPU | of it states, activations | sent a GPU and step | step | mfu | largest that fits | its mfu |")
        print("|---|---|---|---|---|---|---|---|")
        for r in (r for r in rows if r["ranks"] == world):
            states = r["parameter_GiB"] + r["gradient_GiB"] + r["optimizer_GiB"]
            host = f" + {r['host_GiB']:.1f} on the host" if r["host_GiB"] > 0 else ""
            print(f"| {r['strategy']} | {r['peak_GiB']:.1f} GiB{host} | {states:.1f}, {r['activation_GiB']:.1f} GiB | {r['sent_GiB']:.1f} GiB | "
                  f"{r['step_s']:.2f} s | {r['mfu_percent']:.0f} % | {r['largest']} | {r['largest_mfu_percent']:.0f} % |")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main()
