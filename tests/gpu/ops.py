"""The last step of several variants of one training, op by op: milliseconds by the op's label, largest first, from the traces
NAME.trace.json beside NAME.measured.json in a folder; written to ops.tsv there. Last line: each variant's step. Exit status 1
where there is none.

    ops.py FOLDER
"""
import json
import pathlib
import sys


def last_step(trace):
    """Milliseconds and count by label, the first word of a slice's name. First values are a program of their own."""
    events = [e for e in json.loads(trace.read_text())["traceEvents"] if e["ph"] == "X" and e["cat"] != "init"]
    last = max(e["args"]["step"] for e in events)
    sums = {}
    for e in (e for e in events if e["args"]["step"] == last):
        label = e["name"].split()[0]
        count, ms = sums.get(label, (0, 0.0))
        sums[label] = count + 1, ms + e["args"]["duration_ns"] / 1e6
    return sums


def main():
    folder = pathlib.Path(sys.argv[1])
    steps, variants = {}, {}
    for record in sorted(folder.glob("*.measured.json")):
        name = record.name.removesuffix(".measured.json")
        trace = folder / f"{name}.trace.json"
        if trace.exists():
            steps[name] = 1e3 * json.loads(record.read_text())["step_time_s"]
            variants[name] = last_step(trace)
    if not variants:
        raise SystemExit("no step was traced")
    labels = sorted({k for v in variants.values() for k in v}, key=lambda k: -max(v.get(k, (0, 0))[1] for v in variants.values()))
    lines = ["op\t" + "\t".join(f"{name}_count\t{name}_ms" for name in variants)]
    for label in labels:
        cells = [v.get(label, (0, 0.0)) for v in variants.values()]
        lines.append(label + "".join(f"\t{count}\t{ms:.3f}" for count, ms in cells))
    (folder / "ops.tsv").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    print("ms a step: " + ", ".join(f"{name} {ms:.2f}" for name, ms in steps.items()))


if __name__ == "__main__":
    main()
