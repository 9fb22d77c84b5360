"""The table of this experiment.

    tables.py jobs          one prediction a line: name, world, model.json, config.json
    tables.py tables OUT    reads OUT/records and data/, writes OUT/activation_memory.csv, prints Markdown
"""
import csv
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
GIB = 2.0**30
# The paper's table 3: layers, width, heads, tp, pp, stages a pipeline rank, batch, micro-batch
MODELS = {
    "megatron-22B": (48, 6144, 64, 8, 1, 1, 4, 4),
    "gpt3-175B": (96, 12288, 96, 8, 8, 3, 64, 1),
    "turing-530B": (105, 20480, 128, 8, 35, 3, 280, 1),
    "megatron-1T": (128, 25600, 160, 8, 64, 1, 512, 1),
}
TECHNIQUES = {
    "none": ("tensor parallel", {}),
    "seq": ("+ sequence parallel", {"sequence_parallel": True}),
    "sel": ("+ selective recomputation", {"recompute": "selective"}),
    "seqsel": ("+ both", {"sequence_parallel": True, "recompute": "selective"}),
    "full": ("full recomputation", {"recompute": "full"}),
}


def jobs():
    for model, (layers, width, heads, tp, pp, virtual, batch, micro) in MODELS.items():
        for technique, (_, keys) in TECHNIQUES.items():
            for more in (0, 1):
                shape = {"model_type": "gpt2", "n_layer": layers + more * pp * virtual, "n_embd": width,
                         "n_head": heads, "vocab_size": 51200, "n_positions": 2048}
                config = {"train_batch_size": batch, "train_micro_batch_size_per_gpu": micro, "fp16": {"enabled": True},
                          "optimizer": {"type": "Adam", "params": {"lr": 1e-4}},
                          "shardlab": {"tp": tp, "pp": pp, "virtual_stages": virtual, "store_dropout_masks": True, "attention": "materialised",
                                       "schedule": "interleaved" if virtual > 1 else "1f1b"} | keys}
                compact = [json.dumps(x, separators=(",", ":")) for x in (shape, config)]
                print(f"{model}_{technique}_{more}", tp * pp, *compact)


def activations(out, model, technique, more):
    """Largest activation bytes of the fullest rank, which is of the first pipeline stage."""
    with open(f"{out}/records/{model}_{technique}_{more}.json") as f:
        record = json.load(f)
    assert record["memory"]["device"]["peak_rank"] < MODELS[model][3], "the first pipeline stage is not the fullest"
    return record["memory"]["device"]["by_category_max"]["activation"]


def published():
    with open(os.path.join(HERE, "data", "korthikanti.csv")) as f:
        return {(r["what"], r["model"], r["technique"]): float(r["value"]) for r in csv.DictReader(f)}


def tables(out):
    paper, rows = published(), []
    for model, (layers, _, _, _, pp, virtual, _, _) in MODELS.items():
        for technique, (label, _) in TECHNIQUES.items():
            whole, more = (activations(out, model, technique, m) for m in (0, 1))
            kept = (more - whole) * layers / (pp * virtual)
            if technique == "none":
                base = kept
            percent, gib = 100 * kept / base, paper.get(("GiB", model, technique))
            said = paper["percent_of_none", model, technique]
            rows.append({"model": model, "technique": technique, "label": label, "published_percent": said,
                         "predicted_percent": percent, "error_percent": 100 * (percent / said - 1),
                         "published_GiB": "" if gib is None else gib, "predicted_GiB": kept / GIB,
                         "peak_activations_GiB": whole / GIB})
    with open(f"{out}/activation_memory.csv", "w", newline="") as f:
        writer = csv.DictWriter(f, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)
    print("| model | technique | published, % | predicted, % | error | published, GiB | predicted, GiB | whole peak, GiB |")
    print("|---|---|---|---|---|---|---|---|")
    for r in rows:
        gib = f"{r['published_GiB']:.2f}" if r["published_GiB"] != "" else ""
        print(f"| {r['model']} | {r['label']} | {r['published_percent']:.2f} | {r['predicted_percent']:.2f} | "
              f"{r['error_percent']:+.2f} % | {gib} | {r['predicted_GiB']:.2f} | {r['peak_activations_GiB']:.2f} |")
    errors = [abs(r["error_percent"]) for r in rows if r["technique"] != "none"]
    print(f"\nmean error {sum(errors) / len(errors):.2f} % over {len(errors)} figures, worst {max(errors):.2f} %")


if __name__ == "__main__":
    jobs() if sys.argv[1:] == ["jobs"] else tables(sys.argv[2])
