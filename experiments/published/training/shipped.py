#!/usr/bin/env python3
"""Puts the rows of tables that were never fitted where the shipped profiles predict them.

    shipped.py OUT    # after `predict --table` of all tables into OUT, and before report.py

The fit's clock extrapolates steps of many micro-batches, and takes the centres of priors for kernel sets of which no run was
fitted: in OUT/predictions.csv all times of a row of unseen.csv and nvidia.csv are scaled by what `predict --table` says of it.
"""
import csv
import pathlib
import sys

TABLES = ("unseen", "nvidia")


def main():
    out = pathlib.Path(sys.argv[1])
    shipped = {(t, r["id"]): r["predicted_step_time_s"] for t in TABLES for r in csv.DictReader(open(out / f"{t}.csv", newline=""))}
    with open(out / "predictions.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        seconds = shipped.get((row["table"], row["id"]))
        scale = float(seconds) / float(row["predicted_s"]) if seconds else 1
        for key in row:
            if abs(scale - 1) > 1e-5 and key.endswith("_s") and key != "measured_s" and row[key]:
                row[key] = f"{float(row[key]) * scale:.9g}"
    with open(out / "predictions.csv", "w") as file:
        file.write(",".join(rows[0]) + "\n")
        file.writelines(f'"{row.pop("id")}",{",".join(row.values())}\n' for row in rows)


if __name__ == "__main__":
    main()
