"""Checkpoints of GPT-2 124M with its optimizer's state, by two ranks, beside dd on the same disk; a part of bench.py.

Saving against dd with fsync, loading (what ranks spend on reading and verifying: every rank the weights, which all of them hold, and its own
moments) against dd from files that are in no cache; each directly after the other. Virtual disks give what comes first more: their limits
count the bytes of some seconds. So every second round has the other order, and the verdict is on the geometric mean of the rounds' ratios. Then the
same training with saves and without: how much the steps slow down in which one is on its way.
"""
import glob
import json
import os
import shutil
import statistics
import time

SPEED_BAR, SLOW_BAR = 0.8, 0.10
SEQ = 32  # short steps: what is measured here is the disk


def measure(bench, inputs, folder, *flags, seq=SEQ):
    record = os.path.join(folder, "checkpoint_record.json")
    bench.run([f"{bench.BIN}/shardlab", "measure", "--model", inputs["model"], "--config", inputs["two"], "--world", "2", "--seq", str(seq),
               "--threads", "1", "--data", bench.CORPUS, "--quiet", "--json", record, *flags])
    with open(record) as f:
        return json.load(f)


def dd_writes(bench, folder, size):
    path = os.path.join(folder, "dd.bin")
    begun = time.monotonic()
    bench.run(["dd", "if=/dev/zero", f"of={path}", "bs=16M", f"count={size}", "iflag=count_bytes", "conv=fsync"])
    took = time.monotonic() - begun
    os.unlink(path)
    return size / took


def forget(path):
    """Out of the page cache."""
    handle = os.open(path, os.O_RDONLY)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(handle)


def dd_reads(bench, step):
    files = glob.glob(f"{step}/*.safetensors")
    for path in files:
        forget(path)
    begun = time.monotonic()
    for path in files:
        bench.run(["dd", f"if={path}", "of=/dev/null", "bs=16M"])
    return sum(map(os.path.getsize, files)) / (time.monotonic() - begun)


def in_turn(one, other, turned):
    """What both give, `other` called first where `turned`."""
    if turned:
        after = other()
        return one(), after
    return one(), other()


def round_(bench, inputs, folder, size, turned):
    """Rates of (dd, saving, dd, loading), bytes/s, for a checkpoint of `size` bytes."""
    saved = os.path.join(folder, "checkpoints")
    step = f"{saved}/step-000001"

    def save():
        shutil.rmtree(saved, ignore_errors=True)
        told = measure(bench, inputs, folder, "--steps", "1", "--checkpoint", saved)["checkpoint"]
        return told["bytes"] / told["write_s"]

    def load():
        for path in glob.glob(f"{step}/*"):
            forget(path)
        return size / measure(bench, inputs, folder, "--steps", "2", "--resume", step)["load_time_s"]

    saves, writes = in_turn(save, lambda: dd_writes(bench, folder, size), turned)
    reads, loads = in_turn(lambda: dd_reads(bench, step), load, turned)
    return writes, saves, reads, loads


def size_of(bench, inputs, folder):
    """Bytes of a checkpoint, as a save says."""
    told = measure(bench, inputs, folder, "--steps", "1", "--checkpoint", os.path.join(folder, "checkpoints"))
    return told["checkpoint"]["bytes"]


def slow_down(bench, inputs, folder, quick):
    """By how much the step behind a save, in which that is being written, is longer; and seconds that steps stand still for a save."""
    every, steps = 3, 10 if quick else 16
    plain, saving, waits = [], [], []
    for _ in range(1 if quick else 2):
        plain += measure(bench, inputs, folder, "--steps", str(steps), seq=bench.SEQ)["step_times_s"][1:]
        saved = os.path.join(folder, "checkpoints")
        shutil.rmtree(saved, ignore_errors=True)
        record = measure(bench, inputs, folder, "--steps", str(steps), "--checkpoint", saved, "--save-every", str(every), "--keep", "1",
                         seq=bench.SEQ)
        saving += record["step_times_s"][every::every]
        waits.append(record["checkpoint"]["wait_s"])
    return statistics.median(saving) / statistics.median(plain) - 1, statistics.median(waits)


def bench(bench_, table, inputs, folder, quick):
    bench_.say("checkpoints of GPT-2 124M beside dd")
    size = size_of(bench_, inputs, folder)
    rounds = [round_(bench_, inputs, folder, size, turned) for turned in [False, True] * (1 if quick else 2)]
    for what, dd, ours in (("save", 0, 1), ("load", 2, 3)):
        ratio = statistics.geometric_mean(r[ours] / r[dd] for r in rounds)
        rate, beside = (1e-6 * statistics.median(r[i] for r in rounds) for i in (ours, dd))
        table.add(f"checkpoint, {what} from 2 ranks", f"{rate:.0f} MB/s; dd {beside:.0f} MB/s: {ratio:.2f}", f">= {SPEED_BAR}", ratio >= SPEED_BAR)
    slower, wait = slow_down(bench_, inputs, folder, quick)
    table.add("checkpoint, a step while one is written", f"{100 * slower:+.1f} %; steps wait {1000 * wait:.0f} ms", f"<= {100 * SLOW_BAR:.0f} %",
              slower <= SLOW_BAR)
