"""The tables of this experiment, from the records that run.sh made: bubble.csv and Markdown on standard output.

    tables.py OUT     reads OUT/records, writes OUT/bubble.csv
"""
import csv
import glob
import json
import os
import re
import sys

# Length of the bubble over that of the work, in units of a stage's F (B is two, I and W one each): (p - 1) / (k m).
WORK = {"gpipe": 1, "1f1b": 1, "interleaved": None, "zb-h1": 3, "zbv": 6}
ORDER = ["gpipe", "1f1b", "interleaved 2", "interleaved 4", "interleaved 6", "zb-h1", "zbv"]


def closed_form(schedule, chunks, p, m):
    k = chunks if schedule == "interleaved" else WORK[schedule]
    return 100 * (p - 1) / (k * m + p - 1)


def bubble(record):
    """Share of the ranks' time in which neither compute nor a collective ran, in percent."""
    ranks = record["ranks"]
    return 100 * sum(r["bubble_s"] for r in ranks) / len(ranks) / record["breakdown_s"]["step"]


def load(path):
    if not os.path.exists(path):
        return None
    with open(path) as f:
        return json.load(f)


def read_rows(out):
    rows = []
    for path in glob.glob(f"{out}/records/*_predicted.json"):
        machine, schedule, chunks, p, m = re.search(r"(\w+?)_([\w-]+)_(\d+)_(\d+)_(\d+)_predicted", os.path.basename(path)).groups()
        chunks, p, m = int(chunks), int(p), int(m)
        predicted, measured = load(path), load(path.replace("_predicted", "_measured"))
        name = f"interleaved {chunks}" if schedule == "interleaved" else schedule
        rows.append({"machine": machine, "schedule": name, "virtual_stages": chunks, "ranks": p, "micro_batches": m,
                     "closed_form_percent": closed_form(schedule, chunks, p, m), "predicted_percent": bubble(predicted),
                     "measured_percent": bubble(measured) if measured else "nan",
                     "predicted_step_s": predicted["step_time_s"],
                     "measured_step_s": measured["step_time_s"] if measured else "nan",
                     "predicted_peak_GiB": predicted["memory"]["device"]["peak_bytes"] / 2**30,
                     "activation_GiB": predicted["memory"]["device"]["by_category_max"]["activation"] / 2**30})
    rows.sort(key=lambda r: (r["machine"], ORDER.index(r["schedule"]), r["ranks"], r["micro_batches"]))
    return rows


def write_csv(path, rows):
    with open(path, "w", newline="") as f:
        writer = csv.DictWriter(f, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)


def table(rows, machine, p, title, cell):
    mine = [r for r in rows if r["machine"] == machine and r["ranks"] == p]
    counts = sorted({r["micro_batches"] for r in mine})
    print(f"\n**{title}**\n\n| schedule | " + " | ".join(f"m = {m}" for m in counts) + " |\n|---" + "|---" * len(counts) + "|")
    for schedule in ORDER:
        cells = [cell(r) for r in mine if r["schedule"] == schedule]
        if cells:
            print(f"| {schedule} | " + " | ".join(cells) + " |")


def main():
    out = sys.argv[1]
    rows = read_rows(out)
    write_csv(f"{out}/bubble.csv", rows)
    for p in (4, 16):
        table(rows, "gpu", p, f"GPT-3 175B on {8 * p} A100s, {p} pipeline ranks: bubble predicted (closed form), step",
              lambda r: f"{r['predicted_percent']:.1f} ({r['closed_form_percent']:.1f}) %, {r['predicted_step_s']:.2f} s")
    table(rows, "gpu", 16, "The same 16 ranks: largest memory of activations of a rank",
          lambda r: f"{r['activation_GiB']:.1f} GiB")
    measured = [r for r in rows if r["measured_percent"] != "nan"]
    if measured:
        table(measured, "cpu", 2, "Two ranks of this machine: bubble measured, predicted (closed form)",
              lambda r: f"{r['measured_percent']:.1f}, {r['predicted_percent']:.1f} ({r['closed_form_percent']:.1f}) %")
        table(measured, "cpu", 2, "Two ranks of this machine: step measured, predicted",
              lambda r: f"{1e3 * r['measured_step_s']:.0f}, {1e3 * r['predicted_step_s']:.0f} ms")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
