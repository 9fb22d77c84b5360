"""Tensor and pipeline parallelism of two ranks beside PyTorch's own; a part of bench.py.

A small GPT over bytes, from the same initial weights on the same data: ours and the peer's losses must be equal, and ours at
least 1.2 times as fast. The two run directly after each other, several times over; the verdict is on the median of the
rounds' ratios, and every run warms up first.
"""
import json
import os
import statistics

SEQ, BATCH, MICRO_BATCHES = 128, 8, 8  # a pipeline of p stages wants 4 p micro-batches
WARM = 3                               # steps
MODEL = {"model_type": "gpt2", "vocab_size": 512, "n_positions": SEQ, "n_embd": 384, "n_layer": 6, "n_head": 6,
         "embd_pdrop": 0, "attn_pdrop": 0, "resid_pdrop": 0}
ADAMW = {"type": "AdamW", "params": {"lr": 3e-4, "weight_decay": 0.01}}
MODES = {  # flags of ours; what the rows say
    "tp": (["--tp", "2"], "tp=2", "DTensor"),
    "pp": (["--pp", "2", "--schedule", "1f1b"], f"pp=2, 1F1B, {MICRO_BATCHES} micro-batches", "Schedule1F1B"),
}
LOSS_BAR, SPEED_BAR = 1e-5, 1.2


def write_inputs(bench, folder):
    """Paths of the model, of a config for each mode, and of initial weights: ours, after a step whose learning rate is 0."""
    def write(name, value):
        path = os.path.join(folder, f"parallel_{name}.json")
        with open(path, "w") as f:
            json.dump(value, f)
        return path
    one = {"train_batch_size": BATCH, "gradient_clipping": 0.0, "optimizer": ADAMW, "shardlab": {"shuffle": False}}
    still = {**one, "optimizer": {"type": "AdamW", "params": {"lr": 0.0, "weight_decay": 0.0}}}
    inputs = {"model": write("model", MODEL), "tp": write("tp", one),
              "pp": write("pp", {**one, "gradient_accumulation_steps": MICRO_BATCHES}),
              "init": os.path.join(folder, "parallel_init.safetensors")}
    bench.run([f"{bench.BIN}/shardlab", "measure", "--model", inputs["model"], "--config", write("still", still), "--seq", str(SEQ),
               "--steps", "1", "--data", bench.CORPUS, "--quiet", "--save", inputs["init"]])
    return inputs


def outcome(result):
    """(tokens/s of the warm steps, losses)."""
    return BATCH * SEQ / statistics.median(result["step_times_s"][WARM:]), result["losses"]


def ours(bench, inputs, mode, flags, steps, folder):
    record = os.path.join(folder, "parallel_record.json")
    bench.run([f"{bench.BIN}/shardlab", "measure", "--model", inputs["model"], "--config", inputs[mode], "--world", "2", *flags,
               "--seq", str(SEQ), "--threads", "1", "--steps", str(steps), "--data", bench.CORPUS, "--init", inputs["init"],
               "--quiet", "--json", record])
    with open(record) as f:
        return outcome(json.load(f))


def torchs(bench, python, inputs, mode, steps):
    return outcome(json.loads(bench.run(
        [python, os.path.join(bench.ROOT, "tests", "peers", "torch_parallel.py"), "--mode", mode, "--config", inputs["model"],
         "--ds-config", inputs["tp"], "--init", inputs["init"], "--data", bench.CORPUS, "--batch", str(BATCH), "--seq", str(SEQ),
         "--micro-batches", str(MICRO_BATCHES), "--steps", str(steps), "--world", "2", "--threads", "1"])))


def why_not(bench, peer):
    """None, or why the peer cannot run."""
    python, version = peer
    if not python:
        return version
    try:
        bench.run([python, "-c", "import safetensors, torch.distributed.pipelining, torch.distributed.tensor.parallel"])
    except RuntimeError as error:
        return str(error)
    return None


def add_rows(table, mode, got, missing, version):
    """`got`: a round's (ours, peer), each (tokens/s, losses); peer is None where it is missing."""
    _, what, name = MODES[mode]
    table.add(f"train GPT of 11M, {what}", f"{statistics.median(mine[0] for mine, _ in got):.0f} tokens/s")
    if missing:
        table.add(f"  against PyTorch {name}", f"skipped: {missing}", f">= {SPEED_BAR}")
        return
    table.add(f"  PyTorch {version} {name}", f"{statistics.median(peer[0] for _, peer in got):.0f} tokens/s")
    apart = max(abs(x - y) / y for mine, peer in got for x, y in zip(mine[1], peer[1], strict=True))
    table.add(f"  losses of {len(got[0][0][1])} steps apart by", f"{apart:.1e}", f"<= {LOSS_BAR:.0e}", apart <= LOSS_BAR)
    ratios = [mine[0] / peer[0] for mine, peer in got]
    ratio = statistics.median(ratios)
    table.add(f"  against PyTorch {name}", f"{ratio:.2f} x ({min(ratios):.2f} .. {max(ratios):.2f})", f">= {SPEED_BAR}",
              ratio >= SPEED_BAR)


def bench(bench, table, folder, quick, peer):
    """`bench`: bench.py as a module; `table`: its Table; `peer`: (interpreter, version) or (None, why not)."""
    inputs = write_inputs(bench, folder)
    missing = why_not(bench, peer)
    steps, rounds = (WARM + 6, 3) if quick else (WARM + 12, 5)
    got = {mode: [] for mode in MODES}
    for i in range(rounds):
        bench.say(f"GPT of 11M, 2 ranks x 1 thread, batch {BATCH} x {SEQ}, fp32: round {i + 1} of {rounds}")
        for mode, (flags, _, _) in MODES.items():
            mine = ours(bench, inputs, mode, flags, steps, folder)
            got[mode].append((mine, None if missing else torchs(bench, peer[0], inputs, mode, steps)))
    for mode in MODES:
        add_rows(table, mode, got[mode], missing, peer[1])
