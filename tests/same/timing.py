"""How long two binaries take to predict, in alternating turns, so that what slows the machine down slows both."""
import resource
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


def spent():
    """Processor time of the children so far, which a prediction on a machine that others use, too, is better known by."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def seconds(binary, arguments, folder, times):
    before = spent()
    for _ in range(times):
        subprocess.run([binary, "predict", *arguments], cwd=folder, env=environment(), stdout=subprocess.DEVNULL, check=True)
    return (spent() - before) / times


def compare(old, new, config, arguments, folder):
    """Seconds of each turn of OLD and of NEW; the two take turns in going first."""
    (folder / "ds.json").write_text(config)
    arguments = [*arguments, "--config", "ds.json", "--cluster", "dgx-a100-80g", "--quiet"]
    times = max(1, round(TURN_S / seconds(old, arguments, folder, 1)))
    taken = ([], [])
    for i in range(ROUNDS):
        for side in (0, 1) if i % 2 == 0 else (1, 0):
            taken[side].append(seconds((old, new)[side], arguments, folder, times))
    return taken


def report(old, new):
    """Prints a line a prediction; whether NEW is slower than it may be. What is slower is so in the best turn, too: a machine
    that is busy moves medians by more than the bar."""
    slower = False
    with tempfile.TemporaryDirectory() as folder:
        for name, (config, arguments) in PREDICTIONS.items():
            a, b = compare(old, new, config, arguments, Path(folder))
            medians, best = statistics.median(b) / statistics.median(a), min(b) / min(a)
            fails = min(medians, best) > SLOWER
            slower |= fails
            print(f"predict {name}: {1e3 * statistics.median(a):.2f} ms then {1e3 * statistics.median(b):.2f} ms of processor "
                  f"time; ratio of medians {medians:.3f}, of the best {best:.3f}: {'SLOWER' if fails else 'ok'}, "
                  f"at most {SLOWER} in one of them", flush=True)
    return slower
