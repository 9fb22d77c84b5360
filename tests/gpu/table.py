"""The short table of a part of ./dev gpu, and the comparisons that its stages make.

    table.py table FOLDER                 stages, and the figures of the records in FOLDER
    table.py same A.json B.json REL       losses and gradient norms of the steps both have, within REL
    table.py golden FOLDER RUN M.json     the same against PyTorch's in tests/golden/FOLDER (fp64), within 1e-5 and 1e-4
    table.py grads A B REL                tensors of two safetensors files: |a - b| <= REL |a|, Euclidean
    table.py arena PRED.json MEAS.json [REL]
                                          bytes of the device's arena equal, those of the process within REL
    table.py rank R PRED.json MEAS.json [REL]
                                          the same of one rank of a plan
    table.py context PROFILE.json CLUSTER.json
                                          give CLUSTER.json's device the context of PROFILE.json's
    table.py memory MEASURED.csv          the same of all runs of experiments/memory_vs_stage

Each comparison says in one line what it found; exit status 1 where it does not hold.
"""
import array
import csv
import json
import math
import pathlib
import struct
import sys


def load(path):
    return json.loads(pathlib.Path(path).read_text())


def worst(xs, ys):
    """Largest relative difference; infinite where a number is missing or not finite."""
    if not xs or len(xs) > len(ys):
        return math.inf
    differences = [abs(p - q) / abs(p) if p and q is not None and math.isfinite(q) else math.inf for p, q in zip(xs, ys)]
    return max(differences)


def report(what, losses, norms, loss_bound, norm_bound):
    print(f"{what}: losses differ by at most {losses:.2g} (limit {loss_bound}), norms by {norms:.2g} (limit {norm_bound})")
    return 0 if losses <= loss_bound and norms <= norm_bound else 1


def same(a, b, bound):
    x, y = load(a), load(b)
    bound = float(bound)
    return report(f"{len(x['losses'])} steps", worst(x["losses"], y["losses"]), worst(x["grad_norms"], y["grad_norms"]),
                  bound, bound)


def golden(folder, run, measured):
    theirs, ours = load(pathlib.Path(folder) / "losses.json"), load(measured)
    losses, norms = theirs[f"{run}_f64"], theirs["grad_norms"][f"{run}_f64"]
    return report(f"{pathlib.Path(folder).name} {run}", worst(losses, ours["losses"]), worst(norms, ours["grad_norms"]),
                  1e-5, 1e-4)


def tensors(path):
    data = pathlib.Path(path).read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    for name, t in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        if t["dtype"] != "F32":
            raise SystemExit(f"{path}: {name} is {t['dtype']}, expected F32")
        values = array.array("f")
        first, last = t["data_offsets"]
        values.frombytes(data[8 + size + first:8 + size + last])
        yield name, values


def grads(a, b, bound):
    ours, largest, where = dict(tensors(b)), 0.0, ""
    for name, x in tensors(a):
        y = ours[name]
        apart = math.sqrt(sum((p - q) ** 2 for p, q in zip(x, y, strict=True)))
        length = math.sqrt(sum(p * p for p in x))
        error = apart / length if length > 0 else apart
        if not error <= largest:
            largest, where = error, name
    print(f"gradients differ by at most {largest:.2g} of their length, {where} (limit {bound})")
    return 0 if largest <= float(bound) else 1


def memory_line(arena, context, m, bound):
    whole = m["process_bytes"] + m["context_bytes"]  # the first holds the arena
    error = (arena + context) / whole - 1 if whole else math.inf
    print(f"arena predicted {arena}, allocated {m['peak_bytes']}; process {whole}, "
          f"predicted {arena + context} ({100 * error:+.2f} %, limit {100 * bound:g} %)")
    return 0 if arena == m["peak_bytes"] and abs(error) <= bound else 1


def arena(predicted, measured, bound="inf"):
    p, m = load(predicted)["memory"]["device"], load(measured)["memory"]["device"]
    return memory_line(p["peak_bytes"], p["context_bytes"], m, float(bound))


def rank(r, predicted, measured, bound="inf"):
    p, m = load(predicted), load(measured)
    theirs, ours = (next(x for x in record["ranks"] if x["rank"] == int(r)) for record in (p, m))
    print(f"rank {r} of {p['plan']['world']}: compute predicted {1e3 * theirs['compute_s']:.1f} ms, "
          f"measured {1e3 * ours['compute_s']:.1f} ms")
    return memory_line(theirs["arena_bytes"]["device"], theirs["context_bytes"], m["memory"]["device"], float(bound))


def context(profile, cluster):
    changed = load(cluster)
    changed["device"]["context_MiB"] = load(profile)["device"]["context_MiB"]
    pathlib.Path(cluster).write_text(json.dumps(changed, indent=2))
    return 0


def memory(path):
    with open(path, newline="") as f:
        rows = list(csv.DictReader(f))
    runs = [r for r in rows if r["measured_arena_MiB"] != "nan"]
    apart = [r for r in runs if float(r["arena_difference_bytes"]) != 0]
    print(f"{len(runs)} of {len(rows)} runs measured, on up to {max((int(r['ranks']) for r in runs), default=0)} ranks; "
          f"{len(apart)} arenas differ from the predicted ones")
    return 0 if runs and len(runs) == len(rows) and not apart else 1


def peers(path, ours):
    t = load(path)
    print(f"PyTorch {t['torch']}{'' if t['compiled'] else ', not compiled'}: step {1e3 * t['step_s']:.2f} ms, "
          f"{t['tokens_per_s']:.0f} tokens/s; bf16 product {t['gemm_tflops']:.0f} TFLOP/s")
    if ours.exists():
        o = load(ours)
        share = o["model_flops_per_step"] / o["step_time_s"] / (1e12 * t["gemm_tflops"])
        print(f"ours: {o['tokens_per_s']:.0f} tokens/s, {o['tokens_per_s'] / t['tokens_per_s']:.2f} x PyTorch; "
              f"{100 * share:.1f} % of the product's rate")


def table(folder):
    folder = pathlib.Path(folder)
    print(f"{'stage':18} {'verdict':8} {'s':>4}  last line")
    for line in (folder / "stages.tsv").read_text().splitlines():
        name, verdict, seconds, last = line.split("\t", 3)
        print(f"{name:18} {verdict:8} {seconds:>4}  {last}")
    records = {}
    for path in sorted(folder.glob("*.measured.json")):
        try:
            records[path] = load(path)
        except ValueError as e:  # its stage was ended while it wrote
            print(f"{path.name}: {e}")
    devices = (r["environment"].get("devices") for r in records.values())
    for device in {f"{d['count']} x {d['name']}, {d['software']}" for d in devices if d}:
        print(device)
    for path, r in records.items():
        device = r["memory"]["device"]
        note = " functional" if r["functional"] else ""
        note += f" rank {r['as_rank']} of {r['plan']['world']}" if "as_rank" in r else ""
        print(f"{path.name[:-14]:18} step {1e3 * r['step_time_s']:9.2f} ms  arena {device['peak_bytes'] / 2**30:7.3f} GiB  "
              f"mfu {100 * r.get('mfu', 0):5.1f} %{note}")
    for path in (folder / "torch-eager.json", folder / "torch.json"):
        if path.exists():
            peers(path, folder / "ours.measured.json")
    return 0


if __name__ == "__main__":
    commands = {"same": same, "golden": golden, "grads": grads, "arena": arena, "rank": rank, "context": context,
                "memory": memory, "table": table}
    if len(sys.argv) < 3 or sys.argv[1] not in commands:
        raise SystemExit(__doc__)
    sys.exit(commands[sys.argv[1]](*sys.argv[2:]))
