"""Table and summary of run.sh's records, as Markdown; one line per configuration goes to FOLDER/runs.csv.

Usage: table.py FOLDER ROUNDS, with lines "name stage world type" on standard input. The measured step time of a
configuration is the median of its rounds' medians; its range is the 5th to 95th percentile of all steps.
"""
import csv
import json
import statistics
import sys

folder, rounds = sys.argv[1], int(sys.argv[2])
columns = ["name", "world", "zero_stage", "type", "predicted_s", "predicted_low_s", "predicted_high_s", "measured_s",
           "measured_low_s", "measured_high_s", "round_medians_s", "load"]
loads = {}
for line in open(folder + "/load.txt"):
    name, load = line.split()
    loads[name] = max(loads.get(name, 0), float(load))


def percentile(values, q):
    at = q * (len(values) - 1)
    below = int(at)
    above = min(below + 1, len(values) - 1)
    return values[below] + (at - below) * (values[above] - values[below])


def row_of(name, stage, world, kind):
    p = json.load(open("%s/%s.predicted.json" % (folder, name)))
    runs = [json.load(open("%s/%s.measured.%d.json" % (folder, name, r + 1))) for r in range(rounds)]
    medians = [r["step_time_s"] for r in runs]
    steps = sorted(t for r in runs for t in r["step_times_s"][1:])
    values = [p["step_time_s"], p["step_time_low_s"], p["step_time_high_s"], statistics.median(medians),
              percentile(steps, 0.05), percentile(steps, 0.95)]
    return [name, world, stage, kind, *values, medians, loads[name]]


rows = [dict(zip(columns, row_of(*line.split()))) for line in sys.stdin]
with open(folder + "/runs.csv", "w") as out:
    writer = csv.writer(out)
    writer.writerow(columns)
    for r in rows:
        writer.writerow([" ".join("%.6g" % m for m in v) if isinstance(v, list) else
                         "%.6g" % v if isinstance(v, float) else v for v in r.values()])

errors, widths, inside = [], [], 0
print("| configuration | type | world | ZeRO | predicted [ms] | 90 % interval | measured median [ms] | rounds | 5..95 % |"
      " error | inside | load |")
print("|---|---|---|---|---|---|---|---|---|---|---|---|")
for r in rows:
    low, high, median = r["predicted_low_s"], r["predicted_high_s"], r["measured_s"]
    error = r["predicted_s"] / median - 1
    holds = low <= median <= high
    errors.append(abs(error))
    widths.append((high - low) / 2 / r["predicted_s"])
    inside += holds
    print("| %s | %s | %s | %s | %.2f | %.2f .. %.2f | %.2f | %s | %.2f .. %.2f | %+.1f %% | %s | %.1f |" % (
        r["name"], r["type"], r["world"], r["zero_stage"], 1e3 * r["predicted_s"], 1e3 * low, 1e3 * high, 1e3 * median,
        ", ".join("%.1f" % (1e3 * m) for m in r["round_medians_s"]), 1e3 * r["measured_low_s"],
        1e3 * r["measured_high_s"], 100 * error, "yes" if holds else "no", r["load"]))
print("\nMedian error %.1f %% (target 10), intervals hold %d of %d (target 80 %%), median half-width %.1f %% (target 12)."
      % (100 * statistics.median(errors), inside, len(rows), 100 * statistics.median(widths)))
