"""The short table of a part of ./dev gpu, and the comparisons that its stages make.

    table.py table FOLDER                 stages, and the figures of the records in FOLDER
    table.py same A.json B.json REL       losses of the steps both have, within REL; exit status 1 otherwise
    table.py arena PRED.json MEAS.json    bytes of the device's arena equal; the process's bytes beside them
"""
import json
import pathlib
import sys


def load(path):
    return json.loads(pathlib.Path(path).read_text())


def same(a, b, tolerance):
    x, y = load(a)["losses"], load(b)["losses"]
    n = min(len(x), len(y))
    worst = max((abs(p - q) / abs(p) if p is not None and q is not None else float("inf")) for p, q in zip(x, y))
    print(f"{n} steps, losses differ by at most {worst:.2g} (limit {tolerance})")
    return 0 if n > 0 and worst <= float(tolerance) else 1


def arena(predicted, measured):
    p, m = load(predicted)["memory"]["device"], load(measured)["memory"]["device"]
    print(f"arena predicted {p['peak_bytes']}, allocated {m['peak_bytes']}; process {m['process_bytes']}, "
          f"context {m['context_bytes']}")
    return 0 if p["peak_bytes"] == m["peak_bytes"] else 1


def table(folder):
    folder = pathlib.Path(folder)
    print(f"{'stage':18} {'verdict':8} {'s':>4}  last line")
    for line in (folder / "stages.tsv").read_text().splitlines():
        name, verdict, seconds, last = line.split("\t", 3)
        print(f"{name:18} {verdict:8} {seconds:>4}  {last}")
    for path in sorted(folder.glob("*.measured.json")):
        r = load(path)
        device = r["memory"]["device"]
        note = " functional" if r["functional"] else ""
        note += f" rank {r['as_rank']} of {r['plan']['world']}" if "as_rank" in r else ""
        print(f"{path.name[:-14]:18} step {1e3 * r['step_time_s']:9.2f} ms  arena {device['peak_bytes'] / 2**30:7.3f} GiB  "
              f"mfu {100 * r.get('mfu', 0):5.1f} %{note}")
    if (folder / "torch.json").exists():
        t = load(folder / "torch.json")
        print(f"PyTorch {t['torch']}: step {1e3 * t['step_s']:.2f} ms, {t['tokens_per_s']:.0f} tokens/s; "
              f"bf16 product {t['gemm_tflops']:.0f} TFLOP/s")
    return 0


if __name__ == "__main__":
    sys.exit({"same": same, "arena": arena, "table": table}[sys.argv[1]](*sys.argv[2:]))
