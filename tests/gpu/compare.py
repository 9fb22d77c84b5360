"""The comparisons that the stages of ./dev gpu make.

    compare.py same A.json B.json REL       losses and gradient norms of the steps both have, within REL
    compare.py golden FOLDER RUN M.json     the same against PyTorch's in tests/golden/FOLDER (fp64), within 1e-5 and 1e-4
    compare.py grads A B REL                tensors of two safetensors files: |a - b| <= REL |a|, Euclidean
    compare.py arena PRED.json MEAS.json [REL]
                                          bytes of the device's arena equal, those of the process within REL
    compare.py rank R PRED.json MEAS.json [REL]
                                          the same of one rank of a plan
    compare.py context PROFILE.json CLUSTER.json
                                          give CLUSTER.json's device the context of PROFILE.json's
    compare.py moved PRED.json MEAS.json    bytes of rank 0 in each memory, and calls and bytes of each kind of traffic, equal
    compare.py memory MEASURED.csv          the same of all runs of experiments/memory_vs_stage

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


def moved(predicted, measured):
    wanted, found = (load(path)["ranks"][0] for path in (predicted, measured))
    rows = [{(t["group"], t["op"], t["payload"], t["dtype"]): (t["calls"], t["bytes"]) for t in r["traffic"]} for r in (wanted, found)]
    rates = [f"{t['group']} {t['op']} {t['bytes'] / t['time_s'] / 1e9:.1f} GB/s" for t in found["traffic"] if t.get("time_s")]
    same_memory = wanted["arena_bytes"] == found["arena_bytes"]
    print(f"memory {found['arena_bytes']}, {'as' if same_memory else 'not as'} predicted; "
          f"{len(rows[1])} kinds of traffic, {'as' if rows[0] == rows[1] else 'not as'} predicted: {', '.join(rates) or 'none'}")
    return 0 if same_memory and rows[0] == rows[1] else 1


def memory(path):
    with open(path, newline="") as f:
        rows = list(csv.DictReader(f))
    runs = [r for r in rows if r["measured_arena_MiB"] != "nan"]
    apart = [r for r in runs if float(r["arena_difference_bytes"]) != 0]
    print(f"{len(runs)} of {len(rows)} runs measured, on up to {max((int(r['ranks']) for r in runs), default=0)} ranks; "
          f"{len(apart)} arenas differ from the predicted ones")
    return 0 if runs and len(runs) == len(rows) and not apart else 1


if __name__ == "__main__":
    commands = {"same": same, "golden": golden, "grads": grads, "arena": arena, "rank": rank, "context": context,
                "moved": moved, "memory": memory}
    if len(sys.argv) < 3 or sys.argv[1] not in commands:
        raise SystemExit(__doc__)
    sys.exit(commands[sys.argv[1]](*sys.argv[2:]))
