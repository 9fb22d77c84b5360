"""The table of a part of ./dev gpu: its stages, the kernels that err most, and the figures of its records."""
import json

WORST_KERNELS = 5
LONGEST_OPS = 8


def load(path):
    return json.loads(path.read_text())


def stages(lines):
    yield f"{'stage':18} {'verdict':8} {'s':>4}  last line"
    for line in lines:
        name, verdict, seconds, last = line.split("\t", 3)
        yield f"{name:18} {verdict:8} {seconds:>4}  {last}"


def kernels(folder):
    for path in sorted(folder.glob("*/kernels.tsv")):
        worst = [line.split("\t") for line in path.read_text().splitlines()[1:]]
        if not worst:
            continue
        yield f"{path.parent.name}: {len(worst)} tensors; the largest errors over what is allowed"
        for case, kind, tensor, ratio, *_ in worst[:WORST_KERNELS]:
            yield f"  {ratio:>8}  {case} {kind}, {tensor}"


def read(paths):
    """Those records that can be read, and of the others why not: their stage was ended while it wrote."""
    records, lines = {}, []
    for path in paths:
        try:
            records[path] = load(path)
        except (ValueError, OSError) as e:
            lines.append(f"{path.name}: {e}")
    return records, lines


def measured(folder):
    records, lines = read(sorted(folder.glob("*/*.measured.json")))
    yield from lines
    devices = (r["environment"].get("devices") for r in records.values())
    yield from sorted({f"{d['count']} x {d['name']}, {d['software']}" for d in devices if d})
    for path, r in records.items():
        device = r["memory"]["device"]
        note = " functional" if r["functional"] else ""
        note += f" rank {r['as_rank']} of {r['plan']['world']}" if "as_rank" in r else ""
        yield (f"{path.name[:-14]:18} step {1e3 * r['step_time_s']:9.2f} ms  arena {device['peak_bytes'] / 2**30:7.3f} GiB  "
               f"mfu {100 * r.get('mfu', 0):5.1f} %{note}")


def ops(folder):
    """Of each variant the milliseconds of the ops that take longest; ops.tsv has all, and their number."""
    path = folder / "ops" / "ops.tsv"
    if not path.exists():
        return
    for cells in (line.split("\t") for line in path.read_text().splitlines()[:1 + LONGEST_OPS]):
        yield f"{cells[0]:22}" + "".join(f"{cell:>19}" for cell in cells[2::2])


def peers(folder):
    """Ours beside PyTorch with the same model, batch and sequence: stages `torch` or `torch-X` and `ours` or `ours-X`."""
    theirs, _ = read([p for p in sorted(folder.glob("torch*/torch*.json")) if p.stem == p.parent.name != "torch-kernels"])
    for path, t in theirs.items():
        yield (f"PyTorch {t['torch']}{'' if t['compiled'] else ', not compiled'}, {t['model']}, sequence {t['seq']}: "
               f"step {1e3 * t['step_s']:.2f} ms, {t['tokens_per_s']:.0f} tokens/s; bf16 product {t['gemm_tflops']:.0f} TFLOP/s")
        name = path.stem.removesuffix("-eager").replace("torch", "ours")
        ours, _ = read(sorted(folder.glob(f"{name}/{name}.measured.json")))
        for o in ours.values():
            share = o["model_flops_per_step"] / o["step_time_s"] / (1e12 * t["gemm_tflops"])
            yield (f"ours: {o['tokens_per_s']:.0f} tokens/s, {o['tokens_per_s'] / t['tokens_per_s']:.2f} x PyTorch; "
                   f"{100 * share:.1f} % of the product's rate")


def text(folder, lines):
    """Of the stages as `lines` have them, and of what `folder` holds."""
    parts = (stages(lines), kernels(folder), measured(folder), ops(folder), peers(folder))
    return "".join(f"{line}\n" for part in parts for line in part)
