"""What csv_monitor and tensorboard have of a run, read back by others, beside the run's own record.

    monitor.py own SHARDLAB ROOT           Python's csv module, and a reader of event files of its own: framing, checksums, protobuf
    monitor.py tensorboard SHARDLAB ROOT   TensorBoard's own reader; status 77 where that package is not installed
"""
import csv
import io
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

STEPS, BATCH = 8, 4
CONFIG = {"train_micro_batch_size_per_gpu": 2, "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}},
          "fp16": {"enabled": True, "initial_scale_power": 18},  # the first steps overflow
          "scheduler": {"type": "WarmupLR", "params": {"warmup_max_lr": 1e-2, "warmup_num_steps": 10}},
          "csv_monitor": {"enabled": True, "output_path": "runs/csv"}, "tensorboard": {"enabled": True, "output_path": "runs/tb/", "job_name": "a job"}}
NAMES = ["loss_scale", "lr", "train_loss"]


def train(shardlab, root, folder):
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "model.json").write_text('{"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 4, "n_positions": 64, "vocab_size": 256}')
    done = subprocess.run([shardlab, "measure", "--model", "model.json", "--config", "config.json", "--world", "2", "--seq", "16", "--steps", str(STEPS),
                           "--data", f"{root}/examples/corpus.txt", "--quiet", "--json", "record.json"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "record.json").read_text())


def lr_after(applied):
    """WarmupLR as DeepSpeed has it after so many steps."""
    import math
    return 1e-2 * math.log(applied) / math.log(10) if 0 < applied < 11 else 0.0 if applied == 0 else 1e-2


def check_values(series, record, near):
    """series: {name: [(step, value)]}"""
    assert sorted(series) == NAMES, sorted(series)
    steps = [(s + 1) * BATCH for s in range(STEPS)]
    for name, points in series.items():
        assert [step for step, _ in points] == steps, (name, points)
    losses = [value for _, value in series["train_loss"]]
    assert all(near(a, b) for a, b in zip(losses, record["losses"])), (losses, record["losses"])
    scales = [value for _, value in series["loss_scale"]]
    skipped = record["skipped_steps"]
    assert 0 < skipped < STEPS and scales[0] <= 2.0 ** 18 and scales[-1] < scales[0], (skipped, scales)
    rates = [value for _, value in series["lr"]]
    want = [lr_after(max(0, s + 1 - skipped)) for s in range(STEPS)]
    assert all(abs(a - b) <= 1e-6 * 1e-2 for a, b in zip(rates, want)), (rates, want)


def check_csv(folder, record):
    series = {}
    for path in sorted((folder / "runs/csv/DeepSpeedJobName").iterdir()):
        data = path.read_bytes().decode()
        rows = list(csv.reader(io.StringIO(data, newline="")))
        name = path.name.removeprefix("Train_Samples_").removesuffix(".csv")
        assert rows[0] == ["step", name], rows[0]
        series[name] = [(int(step), float(value)) for step, value in rows[1:]]
        again = io.StringIO(newline="")  # as csv_monitor writes it
        writer = csv.writer(again)
        writer.writerow(["step", name])
        writer.writerows(series[name])
        assert again.getvalue() == data, (again.getvalue(), data)
    check_values(series, record, lambda a, b: a == b)


# ---- times and messages ----

def check_rates(profile, times, lines):
    """DeepSpeed's lines of a profile with wall_clock_breakdown: of 2 micro-batches, a backward that takes 2.5 forwards."""
    labels = [what.strip() for what, colon, value in (line.partition(":") for line in lines) if colon and ("FLOPS" in what or "latency" in what)]
    assert len(set(labels)) == len(labels), labels  # one number a label
    said = {what.strip(): value.strip() for what, _, value in (line.partition(":") for line in lines)}
    flops, fwd, bwd, step = 2 * profile["modules"][0]["flops"], profile["forward_time_s"], profile["backward_time_s"], profile["optimizer_time_s"]
    assert max(abs(1e3 * a - times[b]) for a, b in ((fwd, "fwd"), (bwd, "bwd"), (step, "step"))) <= 0.0051, (profile, times)
    want = {"fwd flops of the step = 2 * fwd flops per GPU": flops,
            "fwd FLOPS per GPU = fwd flops of the step / fwd latency of the step": flops / fwd,
            "bwd FLOPS per GPU = 2.5 * fwd flops of the step / bwd latency": 2.5 * flops / bwd,
            "fwd+bwd FLOPS per GPU = 3.5 * fwd flops of the step / (fwd+bwd latency)": 3.5 * flops / (fwd + bwd),
            "FLOPS per GPU = 3.5 * fwd flops of the step / iter latency": 3.5 * flops / (fwd + bwd + step), "samples/second": 8 / (fwd + bwd + step)}
    for what, value in want.items():
        got = said[what].removesuffix("FLOPS")
        unit = {"k": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12}.get(got[-1], 1)
        assert abs(float(got.rstrip("kMGBT ")) * unit - value) <= 0.06 * value, (what, got, value)


def check_tables(shardlab, root, folder):
    """wall_clock_breakdown and comms_logger beside the record's own traffic and step times."""
    config = {"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2, "optimizer": {"type": "AdamW"},
              "zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": 0}, "wall_clock_breakdown": True,
              "flops_profiler": {"enabled": True, "profile_step": 5, "recompute_fwd_factor": 0.5, "module_depth": 0}, "comms_logger": {"enabled": True, "verbose": True}, "csv_monitor": {"enabled": True, "job_name": "times"}}
    (folder / "times.json").write_text(json.dumps(config))
    done = subprocess.run([shardlab, "measure", "--model", "model.json", "--config", "times.json", "--world", "2", "--seq", "16", "--steps", str(STEPS),
                           "--data", f"{root}/examples/corpus.txt", "--json", "times.record"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    record, lines = json.loads((folder / "times.record").read_text()), done.stdout.splitlines()
    times = [dict((k, float(v)) for k, v in (part.split(": ") for part in line.split(" | ")[1:])) for line in lines if line.startswith("time (ms)")]
    assert len(times) == STEPS
    csv_times = {}
    for name in "forward", "backward", "backward_inner", "backward_allreduce", "step":
        rows = list(csv.reader((folder / f"times/Train_Samples_elapsed_time_ms_{name}.csv").open(newline="")))
        csv_times[name] = [float(value) for _, value in rows[1:]]
    shares = []
    for s, t in enumerate(times):
        assert abs(t["bwd"] - t["bwd_inner"] - t["bwd_allreduce"]) < 0.021 and min(t.values()) >= 0, t
        whole = 1e3 * record["step_times_s"][s]
        shares.append((t["fwd"] + t["bwd"] + t["step"]) / whole)
        assert shares[-1] < 1.05 + 0.05 / whole, (t, whole)  # one after the other, in one stage
        short = {"forward": "fwd", "backward": "bwd", "backward_inner": "bwd_inner", "backward_allreduce": "bwd_allreduce", "step": "step"}
        assert all(abs(csv_times[name][s] - t[key]) <= 0.0051 for name, key in short.items())
    assert max(shares) > 0.5, shares  # ranks that share cores with others wait between two ops, in some steps long
    check_rates(record["flops_profile"], times[5], lines)
    head = next(i for i, line in enumerate(lines) if line.startswith("Comm. Op"))
    table, verbose = {}, {}
    for line in lines[head + 1:]:
        if line.startswith("measured"):
            break
        op, group, size, unit, count, total, average, algbw, busbw = line.split()
        size = float(size) * {"B": 1, "KiB": 1024, "MiB": 1 << 20}[unit]
        assert abs(float(total) - float(average) * int(count)) < 0.002 * int(count)
        if float(total) > 0.05:
            assert abs(float(algbw) - 1e-6 * size * int(count) / float(total)) < 0.002 * (1 + float(algbw)), line
            assert abs(float(busbw) - float(algbw) * (1 if op == "all_reduce" else 0.5)) < 0.0011, line  # 2 ranks
        calls, bytes_ = table.get((op, group), (0, 0))
        table[op, group] = (calls + int(count), bytes_ + size * int(count))
    for line in lines:
        if line.startswith("comm op: "):
            op, group = line.split(" | ")[0].split()[-1], line.split(" | ")[1].split()[-1]
            verbose[op, group] = verbose.get((op, group), 0) + 1
    assert verbose == {key: calls for key, (calls, _) in table.items()}
    for row in record["traffic"]:
        calls, bytes_ = table.pop((row["op"], row["group"]))
        assert calls == row["calls"] * STEPS and abs(bytes_ - row["bytes"] * STEPS) <= 1e-3 * bytes_, (row, calls, bytes_)
    assert not table, table


# ---- a terminal ----

def on_terminal(words, folder):
    """What it writes there, and in how many pieces that came."""
    ours, theirs = os.openpty()
    run = subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs, env={k: v for k, v in os.environ.items() if k != "NO_COLOR"})
    os.close(theirs)
    seen, pieces = b"", 0
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # nobody holds the other end any more
            break
        seen += piece
        pieces += b"step" in piece
    os.close(ours)
    assert run.wait() == 0, seen
    return seen, pieces


def check_terminal(shardlab, root, folder):
    """On a terminal one line is written over and over, also when the ranks' standard error is mpirun's pipe; elsewhere there is none."""
    words = [shardlab, "measure", "--model", "model.json", "--preset", "ddp", "--world", "2", "--seq", "16", "--steps", "60", "--data", f"{root}/examples/corpus.txt"]
    for _ in range(8):  # a reader that has no core for as long as the run takes sees all of it at once
        seen, pieces = on_terminal(words, folder)
        if pieces > 5:
            break
    lines = [line for line in seen.replace(b"\x1b[K", b"").split(b"\r") if line.strip()]
    pattern = rb"step (\d+) of 60, loss \d+\.\d{4}, \S+ tokens/s, mfu \S+ %, \S+ \w+ left$"
    assert [re.match(pattern, line)[1] for line in lines] == [b"%d" % (s + 1) for s in range(60)], lines
    assert pieces > 5, (pieces, seen)  # while the run goes on
    assert seen.endswith(b"\r\x1b[K"), seen  # nothing of it stays
    plain = subprocess.run(words, cwd=folder, capture_output=True)
    assert plain.stderr == b"" and b"\r" not in plain.stdout, plain


# ---- event files ----

def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def records(data):
    at = 0
    while at < len(data):
        (length, check), body = struct.unpack_from("<QI", data, at), data[at + 12:]
        assert check == masked(data[at:at + 8])
        (check,) = struct.unpack_from("<I", body, length)
        assert check == masked(body[:length])
        yield body[:length]
        at += length + 16


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        else:
            size = {1: 8, 5: 4}[kind]
            (value,), at = struct.unpack_from("<d" if size == 8 else "<f", data, at), at + size
        yield key >> 3, value


def check_events(folder, record):
    (path,) = (folder / "runs/tb/a job").iterdir()
    assert path.name.startswith("events.out.tfevents."), path
    first, *rest = (dict(fields(data)) for data in records(path.read_bytes()))
    assert first[3] == b"brain.Event:2" and set(first) == {1, 3}, first
    series = {}
    for event in rest:
        value = dict(fields(dict(fields(event[5]))[1]))
        series.setdefault(value[1].decode().removeprefix("Train/Samples/"), []).append((event[2], value[2]))
        assert event[1] >= first[1]
    check_values(series, record, lambda a, b: abs(a - b) <= 1e-6 * abs(b))
    damaged = bytearray(path.read_bytes())
    damaged[-6] ^= 1
    try:
        list(records(bytes(damaged)))
    except AssertionError:
        return
    raise AssertionError("the reader takes a damaged file")


def by_tensorboard(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    events = EventAccumulator(str(folder))
    events.Reload()
    return {name.removeprefix("Train/Samples/"): [(e.step, e.value) for e in events.Scalars(name)] for name in events.Tags()["scalars"]}


def check_by_tensorboard(folder, record):
    check_values(by_tensorboard(folder / "runs/tb/a job"), record, lambda a, b: abs(a - b) <= 1e-6 * abs(b))


# ---- a run that goes on ----

def by_name(folder):
    """As TensorBoard reads a folder: its files by name, and where a session starts, what was read from that step on is dropped."""
    series = {}
    for path in sorted(folder.iterdir()):
        for event in (dict(fields(data)) for data in records(path.read_bytes())):
            if 7 in event:
                assert dict(fields(event[7])) == {1: 1}, event
                series = {name: [p for p in points if p[0] < event[2]] for name, points in series.items()}
            if 5 in event:
                value = dict(fields(dict(fields(event[5]))[1]))
                series.setdefault(value[1].decode().removeprefix("Train/Samples/"), []).append((event[2], value[2]))
    return series


def check_resumed(shardlab, root, folder, read):
    """Saved behind step 3 of 8 and gone on from there, with other values: what was trained again stands in place of what was before."""
    config = {"train_micro_batch_size_per_gpu": 2, "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}}, "tensorboard": {"enabled": True, "output_path": "again"}}
    words = [shardlab, "measure", "--model", "model.json", "--world", "2", "--seq", "16", "--steps", str(STEPS), "--data", f"{root}/examples/corpus.txt", "--quiet",
             "--json", "again.json"]
    losses = []
    for rate, more in (1e-3, ["--checkpoint", "saved", "--save-every", "3"]), (2e-3, ["--resume", "saved/step-000003"]):
        config["optimizer"]["params"]["lr"] = rate
        (folder / "again_config.json").write_text(json.dumps(config))
        done = subprocess.run([*words, "--config", "again_config.json", *more], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        losses.append(json.loads((folder / "again.json").read_text())["losses"])
    assert len(list((folder / "again/DeepSpeedJobName").iterdir())) == 2
    points = read(folder / "again/DeepSpeedJobName")["train_loss"]
    assert [step for step, _ in points] == [(s + 1) * BATCH for s in range(STEPS)], points
    want = losses[0][:3] + losses[1]
    assert losses[0][4:] != losses[1][1:] and all(abs(value - w) <= 1e-6 * w for (_, value), w in zip(points, want, strict=True)), (points, want)


def main():
    if sys.argv[1] == "tensorboard":
        try:
            import tensorboard.backend.event_processing.event_accumulator  # noqa: F401
        except ImportError as why:
            print(f"skipped: {why} (pip install tensorboard)")
            sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        record = train(*sys.argv[2:], folder)
        if sys.argv[1] == "tensorboard":
            check_by_tensorboard(folder, record)
            check_resumed(*sys.argv[2:], folder, by_tensorboard)
        else:
            check_csv(folder, record)
            check_events(folder, record)
            check_resumed(*sys.argv[2:], folder, by_name)
            check_tables(*sys.argv[2:], folder)
            check_terminal(*sys.argv[2:], folder)
    print("what was written is what was trained")


if __name__ == "__main__":
    main()
