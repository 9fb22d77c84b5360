#!/usr/bin/env python3
"""What one exact prediction costs, against layers, micro-batches, pipeline ranks and ranks of the world.

    bench_exact.py [SHARDLAB] [--svg FILE] [--judge]

Prints processor seconds and memory of each prediction, and by how much they grow where the configuration doubles, then seconds and
processor seconds of large cases beside what is aimed at; the fastest of three runs counts. --svg draws the curves (gnuplot). With --judge the exit status is 1 where seconds grow by more than 2.5 for a doubling.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ADAMW = {"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": True}, "optimizer": {"type": "AdamW"}}
LLAMA_65B = {"model_type": "llama", "hidden_size": 8192, "num_hidden_layers": 80, "num_attention_heads": 64,
             "intermediate_size": 22016, "vocab_size": 32000, "max_position_embeddings": 2048}
ROUNDS, MOST, NOISE_S = 3, 2.5, 0.03


def model(layers):
    return {"model_type": "gpt2", "n_embd": 10240, "n_layer": layers, "n_head": 128, "vocab_size": 51200, "n_positions": 2048}


def flags(world, tp, pp, micro_batches):
    return ["--world", world, "--tp", tp, "--pp", pp, "--grad-accum", micro_batches]


# axis: (values, layers and flags of a value)
SERIES = {
    "layers": ([64, 128, 256, 512], lambda n: (n, flags(32, 32, 1, 16))),
    "micro-batches": ([256, 512, 1024, 2048], lambda m: (64, flags(64, 8, 8, m))),
    "pipeline ranks, 4 micro-batches each": ([8, 16, 32, 64], lambda p: (128, flags(8 * p, 8, p, 4 * p))),
    "ranks, tensor groups over node borders": ([1020, 2040, 4080, 8160], lambda w: (48, flags(w, 2, 3, 8))),
}


# what is aimed at: command, model, flags, seconds by the clock, MB
AIMS = {
    "Megatron 1T on 3072 GPUs": ("predict", "megatron-1t", flags(3072, 8, 64, 512), 0.1, 60),
    "with a framework's kernels": ("predict", "megatron-1t", flags(3072, 8, 64, 512) + ["--cluster", "selene-a100", "--kernels", "megatron-fused"], 0.1, 60),
    "its proof": ("check", "megatron-1t", flags(3072, 8, 64, 512), 2.0, None),
    "65B, tp 8, pp 8, 2048 micro-batches": ("predict", LLAMA_65B, flags(64, 8, 8, 2048), 0.3, None),
}


def once(command, folder):
    """Processor seconds, peak MB and seconds of a child."""
    begun = time.perf_counter()
    child = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    took = time.perf_counter() - begun
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"bench_exact: {' '.join(command)}: exit status {child.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, took


def cost(shardlab, folder, verb, name, more):
    if isinstance(name, dict):
        (folder / "model.json").write_text(json.dumps(name))
        name = "model.json"
    where = [] if "--cluster" in more else ["--cluster", "dgx-a100-80g"]
    command = [shardlab, verb, "--model", name, "--config", "ds.json", *where, *map(str, more)]
    return [min(numbers) for numbers in zip(*(once(command + ["--quiet"] * (verb == "predict"), folder) for _ in range(ROUNDS)))]


def aims(shardlab, folder):
    print("aims")
    for title, (verb, name, more, seconds, megabytes) in AIMS.items():
        processor, mb, s = cost(shardlab, folder, verb, name, more)
        limit = f"{1e3 * seconds:.0f} ms" + (f", {megabytes} MB" if megabytes else "")
        print(f"  {title:36} {1e3 * s:9.1f} ms, {1e3 * processor:.1f} of processors {mb:8.1f} MB  (aim: {limit})", flush=True)


def draw(path, curves):
    blocks = "\n\n".join("\n".join(f"{i} {s} {mb}" for i, (_, s, mb) in enumerate(rows)) for rows in curves.values())
    lines = ", ".join(f"'-' using (2**$1):2 with linespoints pt 7 lw 2 lc rgb word(curve_colours, {i + 1}) title '{name}'" for i, name in enumerate(curves))
    data = "\ne\n".join(blocks.split("\n\n")) + "\ne\n"
    subprocess.run(["gnuplot"], input=f"load '{ROOT}/analysis/style.gp'\neval page('svg', '{Path(path).with_suffix('')}', 520)\nset datafile separator\n"
                   "set logscale xy 2; set key inside left top; set title 'what a prediction takes as one thing grows'\n"
                   "set xlabel 'times the smallest'; set ylabel 'processor seconds'\n" f"plot {lines}\n{data}", text=True, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shardlab", nargs="?", default=str(ROOT / "build/release/bin/shardlab"))
    parser.add_argument("--svg")
    parser.add_argument("--judge", action="store_true")
    given = parser.parse_args()
    given.shardlab = str(Path(given.shardlab).resolve())
    curves, missed = {}, False
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "ds.json").write_text(json.dumps(ADAMW))
        for name, (values, configuration) in SERIES.items():
            rows = curves[name] = []
            print(name)
            for value in values:
                layers, more = configuration(value)
                seconds, megabytes, _ = cost(given.shardlab, Path(folder), "predict", model(layers), more)
                growth = seconds / rows[-1][1] if rows else 1.0
                missed |= growth > MOST and seconds > NOISE_S
                rows.append((value, seconds, megabytes))
                print(f"  {value:6} {1e3 * seconds:9.1f} ms {megabytes:8.1f} MB" + (f"  x {growth:.2f}" if len(rows) > 1 else ""),
                      flush=True)
        aims(given.shardlab, Path(folder))
    if given.svg:
        draw(given.svg, curves)
    return 1 if given.judge and missed else 0


if __name__ == "__main__":
    sys.exit(main())
