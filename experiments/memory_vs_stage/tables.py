"""The tables of this experiment, from the records that run.sh made: CSV files and Markdown on standard output.

    tables.py tables OUT           reads OUT/records and data/, writes OUT/*.csv
    tables.py predicted OUT        the same, without what was trained here
    tables.py offload none|optimizer|both <config >config    a DeepSpeed config with model states moved to the CPU
"""
import csv
import glob
import json
import os
import re
import sys
from decimal import ROUND_HALF_UP, Decimal

HERE = os.path.dirname(os.path.abspath(__file__))
GB, GIB, MIB = 1e9, 2.0**30, 2.0**20
STATES = ("parameter", "gradient", "optimizer")
PARTS = STATES + ("activation", "communication", "workspace", "fragmentation")
DEVICES = (1, 4, 16, 64, 256, 1024)


def load(path):
    with open(path) as f:
        return json.load(f)


def write_csv(path, rows):
    with open(path, "w", newline="") as f:
        writer = csv.DictWriter(f, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)


def markdown(title, head, rows):
    print(f"\n### {title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def short(v):
    """At least three digits, halves rounded up, no empty decimals."""
    digits = Decimal("0.01") if v < 10 else Decimal("0.1")
    return f"{Decimal(repr(v)).quantize(digits, ROUND_HALF_UP):f}".removesuffix(".0").removesuffix(".00")


def closed_form(params, devices, stage):
    """ZeRO's Figure 1: bytes of model states a device, mixed precision and Adam (core/record/estimator.c holds it to the digit)."""
    whole, shared = ((16, 0), (4, 12), (2, 14), (0, 16))[stage]
    return whole * params + shared * params / devices


def paper_tables(out):
    rows = []
    for devices in DEVICES:
        for stage in range(4):
            record = load(f"{out}/records/a_{devices}_{stage}.json")
            device = record["memory"]["device"]
            largest, peak = device["by_category_max"], device["by_category"]
            params = record["plan"]["parameters"]
            states, own = sum(largest[c] for c in STATES), closed_form(params, devices, stage)
            row = {"devices": devices, "zero_stage": stage, "paper_states_GB": closed_form(7.5e9, devices, stage) / GB,
                   "own_size_states_GB": own / GB}
            row.update({f"program_{c}_GB": largest[c] / GB for c in STATES})
            row.update({"program_states_GB": states / GB,
                        "error_to_paper_percent": 100 * (states / closed_form(7.5e9, devices, stage) - 1),
                        "padding_and_persistent_GB": (states - own) / GB})
            row.update({f"peak_{c}_GB": peak[c] / GB for c in PARTS})
            row["peak_GB"] = device["peak_bytes"] / GB
            rows.append(row)
    write_csv(f"{out}/zero_paper.csv", rows)
    markdown("Figure 1 of the paper: 7.5 B parameters on 64 devices, GB (10^9) a device",
             ["stage", "paper", "program: model states", "error", "padding, persistent parameters", "peak",
              "of it activations", "of it buckets and gathered parameters"],
             [[str(r["zero_stage"]), f"{r['paper_states_GB']:.1f}", f"{r['program_states_GB']:.2f}",
               f"{r['error_to_paper_percent']:+.2f} %", f"{1e3 * r['padding_and_persistent_GB']:.1f} MB",
               f"{r['peak_GB']:.2f}", f"{r['peak_activation_GB']:.2f}", f"{r['peak_communication_GB']:.2f}"]
              for r in rows if r["devices"] == 64])
    worst = max(abs(r["error_to_paper_percent"]) for r in rows if r["devices"] <= 64)
    print(f"\nModel states of the program within {worst:.2f} % of the paper's up to 64 devices (tolerance 1 %).")
    if worst > 1:
        sys.exit("tables.py: the program's model states are more than 1 % from the paper's")
    program = {(r["devices"], r["zero_stage"]): r["program_states_GB"] for r in rows}
    table = [{"devices": n, "zero_stage": s, **{f"params_{name}_GB": closed_form(p, n, s) / GB
              for name, p in (("7.5B", 7.5e9), ("128B", 128e9), ("1T", 1e12))}, "program_7.5B_GB": program[n, s]}
             for n in DEVICES for s in (1, 2, 3)]
    write_csv(f"{out}/zero_table.csv", table)
    cell = lambda n, key, s: next(short(r[key]) for r in table if (r["devices"], r["zero_stage"]) == (n, s))
    markdown("The paper's closed form over the number of devices, GB a device (stages 1 / 2 / 3), and the program's",
             ["devices", "7.5 B", "7.5 B, program", "128 B", "1 T"],
             [[str(n)] + [" / ".join(cell(n, key, s) for s in (1, 2, 3)) for key in
                          ("params_7.5B_GB", "program_7.5B_GB", "params_128B_GB", "params_1T_GB")] for n in DEVICES])


def measured_table(out):
    rows = []
    for path in sorted(glob.glob(f"{out}/records/b_*_predicted.json")):
        precision, world, stage = re.search(r"b_(\w+)_(\d+)_(\d)_predicted", path).groups()
        p = load(path)["memory"]["device"]
        row = {"precision": precision, "ranks": int(world), "zero_stage": int(stage),
               "predicted_arena_MiB": p["peak_bytes"] / MIB}
        row.update({f"predicted_{c}_MiB": p["by_category"][c] / MIB for c in PARTS})
        other = path.replace("_predicted", "_measured")
        if os.path.exists(other):
            m = load(other)["memory"]["device"]
            row.update({"measured_arena_MiB": m["peak_bytes"] / MIB,
                        "arena_difference_bytes": m["peak_bytes"] - p["peak_bytes"],
                        "measured_process_MiB": m["process_bytes"] / MIB,
                        "process_error_percent": 100 * (p["peak_bytes"] / m["process_bytes"] - 1),
                        "context_MiB": m["context_bytes"] / MIB})
        else:
            row.update(dict.fromkeys(("measured_arena_MiB", "arena_difference_bytes", "measured_process_MiB",
                                      "process_error_percent", "context_MiB"), "nan"))
        rows.append(row)
    if not rows:
        sys.exit("tables.py: no precision could be predicted and measured")
    order = {"fp32": 0, "bf16": 1, "fp16": 2}
    rows.sort(key=lambda r: (order[r["precision"]], r["ranks"], r["zero_stage"]))
    for r in rows:  # where the picture draws the bar: a panel a precision, a group of four for each number of ranks
        group = {1: 0, 2: 2.5, 4: 7.5, 8: 12.5}[r["ranks"]]
        r["panel"], r["bar_x"] = order[r["precision"]], group + r["zero_stage"]
    write_csv(f"{out}/measured.csv", rows)
    name = load(glob.glob(f"{out}/records/b_*_predicted.json")[0])["model"].get("_name_or_path", "the model")
    say = lambda v, form: "not measured" if v == "nan" else form.format(v)
    markdown(f"{name}, sequences of 64: predicted and measured, MiB a rank (the largest rank)",
             ["precision", "ranks", "stage", "arena predicted", "arena measured", "difference", "process measured",
              "arena against process"],
             [[r["precision"], str(r["ranks"]), str(r["zero_stage"]) if r["ranks"] > 1 else "any",
               f"{r['predicted_arena_MiB']:.1f}", say(r["measured_arena_MiB"], "{:.1f}"),
               say(r["arena_difference_bytes"], "{} B"), say(r["measured_process_MiB"], "{:.1f}"),
               say(r["process_error_percent"], "{:+.2f} %")] for r in rows])
    if any(r["arena_difference_bytes"] not in (0, "nan") for r in rows):
        sys.exit("tables.py: a measured arena differs from the predicted one")


def estimator_table(out):
    """Documented rows, the formulas on our own model, and the whole step that we predict for it."""
    own = load(f"{out}/records/c_estimator.json")
    with open(f"{HERE}/data/deepspeed_mem_estimator.csv") as f:
        documented = [r for r in csv.DictReader(f) if r["estimator"] == "cold"]
    rows = []
    for d in documented:
        if d["zero_init"] == "0":  # differs on the host only
            continue
        stage, optimizer, param = int(d["zero_stage"]), d["offload_optimizer"], d["offload_param"] or "none"
        formula = [e for e in own if e["stage"] == stage and e["offload_optimizer"] == optimizer and
                   e["offload_param"] == param and e["zero_init"] == (stage == 3)]
        now = next(e for e in formula if not e["before_pull_5099"])
        old = next((e for e in formula if e["before_pull_5099"]), now)
        offload = "both" if param == "cpu" else "optimizer" if optimizer == "cpu" else "none"
        row = {"zero_stage": stage, "offload": offload, "documented_device_GiB": float(d["gpu_mem_gib"]),
               "estimator_then_device_GiB": old["device_bytes"] / GIB, "estimator_now_device_GiB": now["device_bytes"] / GIB,
               "estimator_now_host_GiB": now["host_bytes"] / GIB}
        path = f"{out}/records/c_{stage}_{offload}.json"
        memory = load(path)["memory"] if os.path.exists(path) else None
        # a prediction that leaves the host empty did not model the offload
        known = memory is not None and (offload == "none" or memory["host"]["peak_bytes"] > 0)
        peak = memory["device"]["by_category"] if known else {}
        row.update({f"program_{c}_GiB": peak[c] / GIB if known else "nan" for c in PARTS})
        row["program_peak_GiB"] = memory["device"]["peak_bytes"] / GIB if known else "nan"
        row["program_host_GiB"] = memory["host"]["peak_bytes"] * 8 / GIB if known else "nan"  # 8 ranks a node
        rows.append(row)
    rows.sort(key=lambda r: (r["zero_stage"], ("none", "optimizer", "both").index(r["offload"])))
    rows = [{"row": i, **r} for i, r in enumerate(rows)]
    write_csv(f"{out}/estimator.csv", rows)
    say = lambda v: "not predicted yet" if v == "nan" else f"{v:.2f}"
    markdown("DeepSpeed's estimators, 2851 M parameters on 8 devices, and the whole step of a GPT of that size, GiB a device",
             ["stage", "offload", "documented", "formula then", "formula now", "program: peak", "of it activations",
              "of it buckets and gathered parameters"],
             [[str(r["zero_stage"]), r["offload"], f"{r['documented_device_GiB']:.2f}",
               f"{r['estimator_then_device_GiB']:.2f}", f"{r['estimator_now_device_GiB']:.2f}", say(r["program_peak_GiB"]),
               say(r["program_activation_GiB"]), say(r["program_communication_GiB"])] for r in rows])


def offload_config(what):
    text = "\n".join(line for line in sys.stdin.read().splitlines() if not line.startswith("//"))
    config = json.loads(text)
    zero = config.setdefault("zero_optimization", {})
    if what != "none":
        zero["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    if what == "both":
        zero["offload_param"] = {"device": "cpu", "pin_memory": True}
    json.dump(config, sys.stdout)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("tables", "predicted", "offload"):
        sys.exit(__doc__)
    if sys.argv[1] == "offload":
        offload_config(sys.argv[2])
    else:
        paper_tables(sys.argv[2])
        if sys.argv[1] == "tables":
            measured_table(sys.argv[2])
        estimator_table(sys.argv[2])
