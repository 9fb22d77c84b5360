"""Benchmarks with bars, and PyTorch beside us in the same call; `./dev bench [--quick]` starts it.

Prints one row as soon as it is known. The machine's speed may vary from minute to minute, so what is compared is measured in turns: GEMMs, ours,
PyTorch, and again, and medians are taken. PyTorch comes from SHARDLAB_BENCH_PYTHON=path of an interpreter that has it, else
from .venv/, which is made with pip where a registry can be reached, else from the system's python3; without any, its rows say
why they are empty. With --judge the exit status is 1 when a bar is missed.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import bench_checkpoint
import bench_parallel

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BIN = os.path.join(ROOT, "build", "release", "bin")
CORPUS = os.path.join(ROOT, "examples", "corpus.txt")
LAYERS, WIDTH, VOCABULARY, BATCH, SEQ = 12, 768, 50257, 4, 256  # GPT-2 124M
MODEL = {"model_type": "gpt2", "vocab_size": VOCABULARY, "n_positions": 1024, "n_embd": WIDTH, "n_layer": LAYERS,
         "n_head": 12, "embd_pdrop": 0, "attn_pdrop": 0, "resid_pdrop": 0}
TRAINING = {"gradient_clipping": 0.0, "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "weight_decay": 0.01}}}


def say(text):
    print(f"== {text}", file=sys.stderr, flush=True)


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise RuntimeError(lines[-1] if lines else f"exit status {done.returncode}")
    return done.stdout


def has_torch(python):
    done = subprocess.run([python, "-c", "import torch, numpy; print(torch.__version__)"], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def find_torch():
    """(interpreter, version), or (None, why not)."""
    given = os.environ.get("SHARDLAB_BENCH_PYTHON")
    if given:
        version = has_torch(given) if os.path.exists(given) else None
        return (given, version) if version else (None, f"SHARDLAB_BENCH_PYTHON={given} has no torch")
    venv = os.path.join(ROOT, ".venv")
    python = os.path.join(venv, "bin", "python")
    version = has_torch(python) if os.path.exists(python) else None
    if version:
        return python, version
    why = "no registry"
    try:
        if not os.path.exists(python):
            say("making .venv for PyTorch (once)")
            run([sys.executable, "-m", "venv", venv])
        run([python, "-m", "pip", "install", "--quiet", "--retries", "1", "torch", "numpy", "safetensors"], timeout=1500)
        version = has_torch(python)
        if version:
            return python, version
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        why = str(error)
    version = has_torch("/usr/bin/python3") if os.path.exists("/usr/bin/python3") else None
    return ("/usr/bin/python3", version) if version else (None, f"PyTorch cannot be had: {why[:120]}")


def write_inputs(folder):
    def write(name, value):
        path = os.path.join(folder, name)
        with open(path, "w") as f:
            json.dump(value, f)
        return path
    one = {"train_batch_size": BATCH, **TRAINING}
    return {"model": write("model.json", MODEL), "one": write("one.json", one),
            "two": write("two.json", {**one, "zero_optimization": {"stage": 2, "overlap_comm": True}})}


def ours(inputs, world, threads, steps, folder):
    record = os.path.join(folder, "record.json")
    run([f"{BIN}/shardlab", "measure", "--model", inputs["model"], "--config", inputs["one" if world == 1 else "two"],
         "--world", str(world), "--seq", str(SEQ), "--threads", str(threads), "--steps", str(steps), "--data", CORPUS,
         "--quiet", "--json", record])
    with open(record) as f:
        return json.load(f)


def torchs(python, inputs, world, threads, steps):
    return json.loads(run([python, os.path.join(ROOT, "tests", "peers", "torch_gpt2.py"), "--config", inputs["model"],
                           "--ds-config", inputs["one"], "--data", CORPUS, "--batch", str(BATCH), "--seq", str(SEQ),
                           "--steps", str(steps), "--world", str(world), "--threads", str(threads)]))


def gemm_rate(threads, repeats):
    return json.loads(run([f"{BIN}/bench_gemm", str(BATCH * SEQ), str(LAYERS), str(WIDTH), str(VOCABULARY), str(threads),
                           str(repeats)]))["gflops"]


class Table:
    """Rows of what, value, bar, verdict; each is printed as soon as it is known."""

    def __init__(self):
        self.missed = 0

    def add(self, what, value, bar="", ok=None):
        self.missed += ok is False
        verdict = "" if ok is None else "ok" if ok else "BELOW"
        print(f"{what:<46}  {value:<24}  {bar:<9}  {verdict}".rstrip(), flush=True)


def bench_simulator(table, quick):
    say("simulator")
    best = max(float(re.search(r"sim: ([\d.]+) million", run([f"{BIN}/bench_sim"])).group(1)) for _ in range(1 if quick else 3))
    table.add("simulator", f"{best:.2f} million ops/s", ">= 5", best >= 5)
    command = [f"{BIN}/shardlab", "predict", "--model", "gpt2-xl", "--config", os.path.join(ROOT, "examples", "ds_zero2.json"),
               "--cluster", "dgx-a100-80g", "--world", "64", "--quiet"]
    times = []
    for _ in range(3 if quick else 11):
        start = time.perf_counter()
        run(command)
        times.append(time.perf_counter() - start)
    table.add("predict GPT-2 XL on 64 devices", f"{1e3 * statistics.median(times):.0f} ms", "<= 100 ms",
              statistics.median(times) <= 0.1)


def bench_fast_clock(table, quick):
    say("fast clock")
    texts = [run([f"{BIN}/bench_fast"]) for _ in range(1 if quick else 3)]
    found = [re.search(r"with their blocks, ([\d.]+) once.*: ([\d.]+) us a configuration", text, re.DOTALL) for text in texts]
    rate, one = max(float(m.group(1)) for m in found), min(float(m.group(2)) for m in found)
    table.add("fast clock, grid of one model, blocks known", f"{1e-6 * rate:.2f} million configurations/s", ">= 0.5", rate >= 5e5)
    table.add("fast clock, 1T on 3072 devices", f"{one:.2f} us", "<= 5 us", one <= 5)
    whole = re.search(r"as a whole: ([\d.]+) ms the first, ([\d.]+) ms others, ([\d.]+) us", texts[-1])
    table.add("fast clock, FSDP of 405B, played as a whole", f"{whole.group(1)} ms the first, {whole.group(2)} ms others, {whole.group(3)} us known")


def bench_kernels(table):
    say("kernels of the host backend")
    for line in run([f"{BIN}/bench_kernels"]).splitlines():
        found = re.match(r"(\S+)\s+[\d.]+ ms\s+(.+)", line)
        if found:
            table.add(f"kernel {found.group(1)}", re.sub(r"\s+", " ", found.group(2)))


def bench_training(table, inputs, folder, quick, peer):
    """Rounds of GEMMs, ours and PyTorch; medians over the rounds."""
    python, version = peer
    steps, rounds = 3, 1 if quick else 7  # the machine's speed differs more from round to round than from step to step
    threads = min(2, len(os.sched_getaffinity(0)))
    got = {name: [] for name in ("gemm", "one", "two", "torch", "ddp")}
    for i in range(rounds):
        say(f"GPT-2 124M, batch {BATCH} x {SEQ}, fp32: round {i + 1} of {rounds}")
        got["gemm"].append(gemm_rate(threads, 3))
        record = ours(inputs, 1, threads, steps, folder)
        got["one"].append(record["tokens_per_s"])
        flops_per_token = record["model_flops_per_step"] / (BATCH * SEQ)
        if python:
            got["torch"].append(torchs(python, inputs, 1, threads, steps)["tokens_per_s"])
        got["two"].append(ours(inputs, 2, 1, steps, folder)["tokens_per_s"])
        if python:
            got["ddp"].append(torchs(python, inputs, 2, 1, steps)["tokens_per_s"])
        say(", ".join(f"{name} {values[-1]:.0f}" for name, values in got.items() if values) + " (GFLOP/s; tokens/s)")
    m = {name: statistics.median(values) for name, values in got.items() if values}
    share = m["one"] * flops_per_token * 1e-9 / m["gemm"]
    table.add(f"GEMMs of GPT-2 124M, {threads} threads", f"{m['gemm']:.1f} GFLOP/s")
    table.add(f"train GPT-2 124M, 1 rank x {threads} threads", f"{m['one']:.0f} tokens/s")
    table.add("  of the GEMM rate", f"{100 * share:.0f} %", ">= 70 %", share >= 0.7)
    if not python:
        table.add("  against PyTorch", f"skipped: {version}", ">= 1.1")
    else:
        table.add(f"  PyTorch {version}", f"{m['torch']:.0f} tokens/s")
        table.add("  against PyTorch", f"{m['one'] / m['torch']:.2f} x", ">= 1.1", m["one"] >= 1.1 * m["torch"])
    table.add("train GPT-2 124M, 2 ranks x 1 thread, ZeRO-2", f"{m['two']:.0f} tokens/s")
    if not python:
        table.add("  against PyTorch DDP", f"skipped: {version}", ">= 1.3")
    else:
        table.add("  PyTorch DDP over gloo", f"{m['ddp']:.0f} tokens/s")
        table.add("  against PyTorch DDP", f"{m['two'] / m['ddp']:.2f} x", ">= 1.3", m["two"] >= 1.3 * m["ddp"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer steps and rounds")
    parser.add_argument("--judge", action="store_true", help="exit status 1 when a bar is missed")
    options = parser.parse_args()
    # our own threads and PyTorch's are set by flags
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.pop(name, None)
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        bench_simulator(table, options.quick)
        bench_fast_clock(table, options.quick)
        bench_kernels(table)
        if not os.path.exists(f"{BIN}/bench_gemm"):
            table.add("training", "skipped: the host backend was not built")
        else:
            bench_checkpoint.bench(sys.modules[__name__], table, write_inputs(folder), folder, options.quick)
            peer = find_torch()
            bench_training(table, write_inputs(folder), folder, options.quick, peer)
            bench_parallel.bench(sys.modules[__name__], table, folder, options.quick, peer)
    return 1 if options.judge and table.missed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, OSError) as error:
        sys.exit(f"bench: {error}")
