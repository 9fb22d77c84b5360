#!/usr/bin/env python3
"""PyTorch's own steps, which the records have beside ours, and what is predicted of them; no GPU is needed.

    pytorch.py [SHARDLAB]

Every record's torch.json or torch-*.json is a training by tests/peers/torch_gpu.py: one GPU, torch.compile, bf16 by autocast, fused AdamW,
scaled_dot_product_attention, which took cuDNN's kernels. Predicted with the kernel set torch-compile and the preset of a server with that
GPU, neither of which was fitted to a run on one GPU. Prints a Markdown table.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLUSTERS = {"NVIDIA H100 80GB HBM3": "dgx-h100", "NVIDIA H200": "dgx-h200"}
LLAMA = "2026-11-27-nvidia-h200/models/ours-llama-1b-{0}/ours-llama-1b-{0}.model.json"
CONFIG = {"torch_autocast": {"enabled": True, "dtype": "bfloat16"}, "gradient_clipping": 1.0, "optimizer": {"type": "AdamW"}}


def predict(shardlab, run, folder):
    """The record of `run`, as shardlab predicts it."""
    config = folder / "config.json"
    config.write_text(json.dumps(CONFIG | {"train_micro_batch_size_per_gpu": run["batch"]}))
    model = run["model"] if run["model"].startswith("gpt2") else ROOT / "experiments/records" / LLAMA.format(run["seq"])
    command = [shardlab, "predict", "--model", model, "--config", config, "--cluster", CLUSTERS[run["gpu"]], "--seq", str(run["seq"]),
               "--kernels", "torch-compile", "--attention", "cudnn", "--make-vocab-size-divisible-by", "128", "--quiet", "--json", "-"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    shardlab = sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/bin/shardlab"
    print("| GPU | record | model | sequence | PyTorch, ms | predicted, ms | off | in the 90 % interval | memory of tensors, off |\n|---|---|---|---:|---:|---:|---:|---|---:|")
    errors, of_memory = [], []
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted((ROOT / "experiments/records").rglob("torch*.json")):
            run = json.loads(path.read_text())
            if "step_s" not in run:
                continue
            record = predict(shardlab, run, pathlib.Path(folder))
            off = record["step_time_s"] / run["step_s"] - 1
            errors.append(abs(off))
            inside = record["step_time_low_s"] <= run["step_s"] <= record["step_time_high_s"]
            memory = record["memory"]["device"]["peak_bytes"] / run["peak_bytes"] - 1
            of_memory.append(abs(memory))
            gpu, name = run["gpu"].removeprefix("NVIDIA ").removesuffix(" 80GB HBM3"), path.relative_to(ROOT / "experiments/records").parts[0]
            print(f"| {gpu} | {name} | {run['model']} | {run['seq']} | {1e3 * run['step_s']:.1f} | {1e3 * record['step_time_s']:.1f} | "
                  f"{100 * off:+.1f} % | {'yes' if inside else 'no'} | {100 * memory:+.1f} % |")
    print(f"\nMean error {100 * sum(errors) / len(errors):.1f} % of {len(errors)} runs, of memory {100 * sum(of_memory) / len(of_memory):.1f} %.")


if __name__ == "__main__":
    main()
