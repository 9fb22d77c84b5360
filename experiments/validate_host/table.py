"""Table and summary of run.sh's runs.csv, as Markdown."""
import csv
import statistics
import sys

rows = [{k: v if k == "name" else float(v) for k, v in row.items()} for row in csv.DictReader(open(sys.argv[1]))]
errors, widths, inside = [], [], 0
print("| configuration | world | ZeRO | predicted [ms] | 90 % interval | measured median [ms] | 5..95 % | error | inside | load |")
print("|---|---|---|---|---|---|---|---|---|---|")
for r in rows:
    low, high, median = r["predicted_low_s"], r["predicted_high_s"], r["measured_s"]
    error = r["predicted_s"] / median - 1
    holds = low <= median <= high
    errors.append(abs(error))
    widths.append((high - low) / 2 / r["predicted_s"])
    inside += holds
    print("| %s | %d | %d | %.2f | %.2f .. %.2f | %.2f | %.2f .. %.2f | %+.1f %% | %s | %.1f |" % (
        r["name"], r["world"], r["zero_stage"], 1e3 * r["predicted_s"], 1e3 * low, 1e3 * high, 1e3 * median,
        1e3 * r["measured_low_s"], 1e3 * r["measured_high_s"], 100 * error, "yes" if holds else "no", r["load"]))
print("\nMedian error %.1f %% (target 10), intervals hold %d of %d (target 80 %%), median half-width %.1f %% (target 12)."
      % (100 * statistics.median(errors), inside, len(rows), 100 * statistics.median(widths)))
