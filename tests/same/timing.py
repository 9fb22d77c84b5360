"""How long two binaries take to predict, in alternating turns, so that what slows the machine down slows both."""
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from same.case import environment

ROUNDS, TURN_S, SLOWER = 9, 0.5, 1.03
ADAMW_BF16 = '{"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}, "optimizer": {"type": "AdamW"}}'
ZERO2 = '{"train_micro_batch_size_per_gpu": 2, "optimizer": {"type": "AdamW"}, "zero_optimization": {"stage": 2}}'
PREDICTIONS = {
    "Megatron 1T on 3072 devices": (ADAMW_BF16, ["--model", "megatron-1t", "--world", "3072", "--grad-accum", "512", "--tp", "8",
                                                 "--pp", "64"]),
    "GPT-2 XL on 64 devices": (ZERO2, ["--model", "gpt2-xl", "--world", "64"]),
}


def seconds(binary, arguments, folder, times):
    """Processor time of `times` runs, which is what is left of a prediction on a machine that others use, too."""
    before = os.times()
    for _ in range(times):
        subprocess.run([binary, "predict", *arguments], cwd=folder, env=environment(), stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return (after.children_user - before.children_user + after.children_system - before.children_system) / times


def compare(old, new, config, arguments, folder):
    """Medians over the rounds; the two take turns in going first."""
    (folder / "ds.json").write_text(config)
    arguments = [*arguments, "--config", "ds.json", "--cluster", "dgx-a100-80g", "--quiet"]
    times = max(1, round(TURN_S / max(seconds(old, arguments, folder, 1), 0.01)))
    taken = {old: [], new: []}
    for i in range(ROUNDS):
        for binary in (old, new) if i % 2 == 0 else (new, old):
            taken[binary].append(seconds(binary, arguments, folder, times))
    return statistics.median(taken[old]), statistics.median(taken[new])


def report(old, new):
    """Prints a line a prediction; whether NEW is slower than it may be."""
    slower = False
    with tempfile.TemporaryDirectory() as folder:
        for name, (config, arguments) in PREDICTIONS.items():
            a, b = compare(old, new, config, arguments, Path(folder))
            slower |= b > SLOWER * a
            print(f"predict {name}: {1e3 * a:.1f} ms then {1e3 * b:.1f} ms of processor time, ratio of medians {b / a:.3f} "
                  f"({'at most' if b <= SLOWER * a else 'ABOVE'} {SLOWER})", flush=True)
    return slower
