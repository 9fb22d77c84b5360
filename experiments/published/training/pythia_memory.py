#!/usr/bin/env python3
"""Peak memory of Pythia under eager PyTorch, published beside predicted: pythia_memory.py [BIN]

raw/pythia_memory.csv has what aflah02/FSDP_Experiments measured in 2024 (Activation Memory Analysis/Measurements, by
measure_memory_forward_and_backward.ipynb): a forward and a backward of transformers' GPTNeoX in fp32 on one GPU of 80 GB, torch 2.3,
torch.cuda.max_memory_allocated and max_memory_reserved in 1e9 bytes. Predicted is the same without an optimizer's states (SGD); what
CUDA's context takes is in neither. The script there holds the model's outputs, logits and keys and values of all blocks, until the
backward is over, which training does not: where the peak is at the backward's end, they are in what was measured alone. So errors are
given apart for peaks at the loss.
"""
import csv
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
GB = 1e9
MODELS = {  # width, blocks, heads, inner width, vocabulary: config.json of EleutherAI/pythia-*
    "pythia-70m": (512, 6, 8, 2048, 50304), "pythia-1b": (2048, 16, 8, 8192, 50304), "pythia-6.9b": (4096, 32, 32, 16384, 50432),
}
ROOM_GB = 80.0


def predict(shardlab, row, folder):
    width, blocks, heads, inner, vocabulary = MODELS[row["model"]]
    model = {"model_type": "gpt_neox", "hidden_size": width, "num_hidden_layers": blocks, "num_attention_heads": heads,
             "intermediate_size": inner, "vocab_size": vocabulary, "max_position_embeddings": 2048, "rotary_pct": 0.25,
             "hidden_act": "gelu", "use_parallel_residual": True, "tie_word_embeddings": False}
    (folder / "model.json").write_text(json.dumps(model))
    (folder / "ds.json").write_text(json.dumps({"train_micro_batch_size_per_gpu": int(row["micro_batch"]), "optimizer": {"type": "SGD"}}))
    subprocess.run([shardlab, "predict", "--model", "model.json", "--config", "ds.json", "--preset", "ddp", "--kernels", "torch-eager",
                    "--cluster", "h200x1", "--seq", row["seq_len"], "--quiet", "--json", "out.json"], cwd=folder, check=True)
    record = json.loads((folder / "out.json").read_text())
    needs = record["verdict"]["device"]
    return record["memory"]["device"]["peak_phase"], needs["peak_bytes"] / GB, (needs["peak_bytes"] + needs["reserve_bytes"]) / GB


def main():
    shardlab = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parents[2] / "build/release/bin/shardlab").resolve()
    errors, verdicts = {"at the loss": [], "later": [], "reserved": []}, []
    print("| model | sequences x tokens | measured [GB] | predicted [GB] | error | peak | reserved [GB] | predicted [GB] | error |")
    print("|---|---|---|---|---|---|---|---|---|")
    with open(HERE / "raw/pythia_memory.csv", newline="") as file, tempfile.TemporaryDirectory() as folder:
        for row in csv.DictReader(file):
            phase, peak, reserved = predict(shardlab, row, pathlib.Path(folder))
            verdicts.append((peak <= ROOM_GB) == (row["status"] == "ok"))
            case = f"| {row['model']} | {row['micro_batch']} x {row['seq_len']} "
            if row["status"] != "ok":
                print(case + f"| out of memory | {peak:.2f} | | {phase} | | {reserved:.2f} | |")
                continue
            measured, held = float(row["allocated_gb"]), float(row["reserved_gb"])
            off, held_off = 100 * (peak / measured - 1), 100 * (reserved / held - 1)
            errors["at the loss" if phase == "forward" else "later"].append(abs(off))
            errors["reserved"].append(abs(held_off))
            print(case + f"| {measured:.2f} | {peak:.2f} | {off:+.1f} % | {phase} | {held:.2f} | {reserved:.2f} | {held_off:+.1f} % |")
    for what, all_of in errors.items():
        print(f"\n{what}: {len(all_of)} rows, mean {statistics.mean(all_of):.1f} %, median {statistics.median(all_of):.1f} %, "
              f"largest {max(all_of):.1f} %")
    print(f"\nfits or not: {sum(verdicts)} of {len(verdicts)} right")


if __name__ == "__main__":
    main()
