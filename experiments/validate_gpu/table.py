"""Predicted against measured, from the records in a folder: a Markdown table, the times of gpt2's ops by its two traces,
and points.tsv for the scatter plot."""
import collections
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
                 # what the process has of the device: the arena, which process_bytes holds, and the context beside it
                 "p_all_GiB": (p["peak_bytes"] + p["context_bytes"]) / 2**30,
                 "m_all_GiB": (m["process_bytes"] + m["context_bytes"]) / 2**30})


def error(row, what):
    return 100 * (row[f"p_{what}"] / row[f"m_{what}"] - 1)


def last_step(trace):
    """Its slices by their number in the program: (name, ms). First values are a program of their own, numbered again."""
    events = [e for e in json.loads(trace.read_text())["traceEvents"] if e["ph"] == "X" and e["cat"] != "init"]
    last = max(e["args"]["step"] for e in events)
    return {e["args"]["issue"]: (e["name"], e["args"]["duration_ns"] / 1e6) for e in events if e["args"]["step"] == last}


def ops(predicted, measured):
    p, m = last_step(predicted), last_step(measured)
    if [(i, p[i][0]) for i in sorted(p)] != [(i, m[i][0]) for i in sorted(m)]:
        raise SystemExit(f"{predicted} and {measured}: their last steps are not of the same program")
    sums = collections.defaultdict(lambda: [0, 0, 0])  # by the op's label, the first word of a slice's name
    for i, (name, ms) in m.items():
        for key in (name.split()[0], "all"):
            sums[key] = [a + b for a, b in zip(sums[key], (1, p[i][1], ms), strict=True)]
    print("\n| op of gpt2-4-none | count | predicted ms | measured ms | error |\n|---|---:|---:|---:|---:|")
    for key, (count, p_ms, m_ms) in sorted(sums.items(), key=lambda item: -item[1][2]):
        print(f"| {key} | {count} | {p_ms:.3f} | {m_ms:.3f} | {f'{100 * (p_ms / m_ms - 1):+.1f} %' if m_ms else ''} |")


print("| configuration | predicted ms | measured ms | error | arena predicted GiB | allocated GiB | process predicted GiB | "
      "measured GiB | error |")
print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
for r in rows:
    print(f"| {r['name']} | {r['p_ms']:.2f} | {r['m_ms']:.2f} | {error(r, 'ms'):+.1f} % | {r['p_GiB']:.3f} | {r['m_GiB']:.3f} | "
          f"{r['p_all_GiB']:.3f} | {r['m_all_GiB']:.3f} | {error(r, 'all_GiB'):+.2f} % |")
measured_trace = folder / "gpt2.measured.trace.json"
if measured_trace.exists():
    ops(folder / "gpt2.predicted.trace.json", measured_trace)
if rows:
    times, memory = ([abs(error(r, what)) for r in rows] for what in ("ms", "all_GiB"))
    print(f"\nError of the step time: median {statistics.median(times):.1f} %, worst {max(times):.1f} %; of the process's "
          f"memory: median {statistics.median(memory):.2f} %, worst {max(memory):.2f} %.")
with open(folder / "points.tsv", "w") as f:
    f.write("name\tpredicted_ms\tmeasured_ms\tpredicted_GiB\tmeasured_GiB\n")
    for r in rows:
        f.write(f"{r['name']}\t{r['p_ms']:.4f}\t{r['m_ms']:.4f}\t{r['p_GiB']:.4f}\t{r['m_GiB']:.4f}\n")
