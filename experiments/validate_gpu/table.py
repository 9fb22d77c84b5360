"""Predicted against measured, from the records in a folder: a Markdown table, and points.tsv for the scatter plot."""
import json
import pathlib
import statistics
import sys

folder = pathlib.Path(sys.argv[1])
rows = []
for path in sorted(folder.glob("*.measured.json")):
    name = path.name.removesuffix(".measured.json")
    measured = json.loads(path.read_text())
    predicted = json.loads((folder / f"{name}.predicted.json").read_text())
    if measured["functional"]:
        continue  # its times mean nothing
    p, m = predicted["memory"]["device"], measured["memory"]["device"]
    rows.append({"name": name, "p_ms": 1e3 * predicted["step_time_s"], "m_ms": 1e3 * measured["step_time_s"],
                 "p_GiB": p["peak_bytes"] / 2**30, "m_GiB": m["peak_bytes"] / 2**30,
                 "process_GiB": m["process_bytes"] / 2**30, "context_GiB": m["context_bytes"] / 2**30})

print("| configuration | predicted ms | measured ms | error | arena predicted GiB | allocated GiB | process GiB | context GiB |")
print("|---|---:|---:|---:|---:|---:|---:|---:|")
for r in rows:
    print(f"| {r['name']} | {r['p_ms']:.2f} | {r['m_ms']:.2f} | {100 * (r['p_ms'] / r['m_ms'] - 1):+.1f} % | "
          f"{r['p_GiB']:.3f} | {r['m_GiB']:.3f} | {r['process_GiB']:.3f} | {r['context_GiB']:.3f} |")
if rows:
    errors = [abs(r["p_ms"] / r["m_ms"] - 1) for r in rows]
    print(f"\nMedian error of the step time {100 * statistics.median(errors):.1f} %, worst {100 * max(errors):.1f} %.")
with open(folder / "points.tsv", "w") as f:
    f.write("name\tpredicted_ms\tmeasured_ms\tpredicted_GiB\tmeasured_GiB\n")
    for r in rows:
        f.write(f"{r['name']}\t{r['p_ms']:.4f}\t{r['m_ms']:.4f}\t{r['p_GiB']:.4f}\t{r['m_GiB']:.4f}\n")
