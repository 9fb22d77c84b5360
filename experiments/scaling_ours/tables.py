"""The tables of this experiment, from the records that run.sh made: a CSV file and Markdown on standard output.

    tables.py tables OUT         reads OUT/records, writes OUT/scaling.csv
    tables.py cluster PROFILE    many nodes of a calibrated machine, joined by 25 gigabit Ethernet
"""
import csv
import glob
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
NODE = {"cpu": 2, "gpu": 1}  # ranks that fill the unit that throughput is counted for: a node's cores, a GPU
BARS = {"cpu": (2, 16, 128, 1024), "gpu": (8, 32, 128, 1024)}


def read_rows(out):
    rows = []
    for path in glob.glob(f"{out}/records/*_predicted.json"):
        machine, kind, stage, ranks = re.search(r"(\w+?)_(\w+)_(\d)_(\d+)_predicted", os.path.basename(path)).groups()
        with open(path) as f:
            p = json.load(f)
        plan, split = p["plan"], p["breakdown_s"]
        row = {"machine": machine, "scaling": kind, "zero_stage": int(stage), "ranks": int(ranks),
               "micro_batch": plan["micro_batch"], "micro_batches": plan["micro_batches"],
               "predicted_step_s": p["step_time_s"], "predicted_compute_s": split["compute"],
               "predicted_exposed_communication_s": split["exposed_total"], "predicted_idle_s": split["idle"],
               "predicted_communication_s": split.get("collective", 0.0),
               "predicted_tokens_per_s": p["tokens_per_s"],
               "predicted_tokens_per_s_and_unit": p["tokens_per_s"] / max(1, int(ranks) / NODE[machine]),
               "predicted_peak_GiB": p["memory"]["device"]["peak_bytes"] / 2**30}
        measured = path.replace("_predicted", "_measured")
        if int(ranks) == 1:  # one rank's stages are one
            measured = re.sub(r"_\d_1_measured", "_0_1_measured", measured)
        m = None
        if os.path.exists(measured):
            with open(measured) as f:
                m = json.load(f)
        row.update({f"measured_step{x}_s": m[f"step_time{x}_s"] if m else "nan" for x in ("", "_low", "_high")})
        row["measured_exposed_communication_s"] = m["breakdown_s"]["exposed_total"] if m else "nan"
        row["measured_tokens_per_s"] = m["tokens_per_s"] if m else "nan"
        rows.append(row)
    order = {"cpu": 0, "gpu": 1, "weak": 0, "strong": 1}
    rows.sort(key=lambda r: (order[r["machine"]], order[r["scaling"]], r["zero_stage"], r["ranks"]))
    return rows


def add_efficiency(rows):
    """Throughput of a unit against that of one full unit, of the same stage; and the place of the bar in the picture."""
    first = {(r["machine"], r["scaling"], r["zero_stage"]): r["predicted_tokens_per_s_and_unit"] for r in rows
             if r["ranks"] == NODE[r["machine"]]}
    for r in rows:
        r["predicted_efficiency_percent"] = (100 * r["predicted_tokens_per_s_and_unit"] /
                                             first[r["machine"], r["scaling"], r["zero_stage"]])
        bars = BARS[r["machine"]]
        r["bar_x"] = bars.index(r["ranks"]) * 5 + r["zero_stage"] if r["ranks"] in bars else "nan"


def write_csv(path, rows):
    with open(path, "w", newline="") as f:
        writer = csv.DictWriter(f, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)


def seconds(v):
    return f"{v:.2f} s" if v >= 1 else f"{1e3 * v:.1f} ms"


def scaling_table(rows, machine, kind, title):
    print(f"\n### {title}\n\n| ranks | " + " | ".join(f"ZeRO-{s}" for s in range(4)) + " |\n|---|---|---|---|---|")
    mine = {(r["ranks"], r["zero_stage"]): r for r in rows if (r["machine"], r["scaling"]) == (machine, kind)}
    for ranks in sorted({k[0] for k in mine}):
        cells = []
        for s in range(4):
            r = mine[ranks, s]
            cells.append(f"{seconds(r['predicted_step_s'])}, {seconds(r['predicted_exposed_communication_s'])}, "
                         f"{r['predicted_efficiency_percent']:.0f} %")
        print(f"| {ranks} | {' | '.join(cells)} |")


def measured_table(rows):
    if all(r["measured_step_s"] == "nan" for r in rows):
        return
    print("\n### Measured on this machine\n\n| scaling | ranks | ZeRO | step predicted | step measured | error | "
          "5 to 95 % of the steps | communication exposed, predicted | measured |\n|---|---|---|---|---|---|---|---|---|")
    for r in rows:
        m = r["measured_step_s"]
        if m == "nan" or (r["ranks"] == 1 and r["zero_stage"] > 0):
            continue
        print(f"| {r['scaling']} | {r['ranks']} | {r['zero_stage'] if r['ranks'] > 1 else 'any'} | "
              f"{seconds(r['predicted_step_s'])} | {seconds(m)} | {100 * (r['predicted_step_s'] / m - 1):+.0f} % | "
              f"{seconds(r['measured_step_low_s'])} to {seconds(r['measured_step_high_s'])} | "
              f"{seconds(r['predicted_exposed_communication_s'])} | {seconds(r['measured_exposed_communication_s'])} |")


def tables(out):
    rows = read_rows(out)
    add_efficiency(rows)
    write_csv(f"{out}/scaling.csv", rows)
    cells = "step, of it communication that nothing hides, throughput against "
    for machine, what, unit in (("cpu", "gpt2-mini, fp32, 2-core nodes", "one full node"),
                                ("gpu", "GPT-3 1.3B, bf16, dgx-a100-80g", "one GPU")):
        for kind in ("weak", "strong"):
            scaling_table(rows, machine, kind, f"{kind.capitalize()} scaling, {what}: {cells}{unit}")
    measured_table(rows)


def cluster(path):
    with open(path) as f:
        profile = json.load(f)
    text = "\n".join(line for line in open(f"{HERE}/cpu_nodes_25g.json") if not line.startswith("//"))
    network = json.loads(text)["links"][-1]
    profile["name"], profile["nodes"] = "nodes-25g", 0
    inner = {**profile["links"][0], "span": profile["devices_per_node"]}
    profile["links"] = [inner, network]
    json.dump(profile, sys.stdout, indent=2)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("tables", "cluster"):
        sys.exit(__doc__)
    {"tables": tables, "cluster": cluster}[sys.argv[1]](sys.argv[2])
