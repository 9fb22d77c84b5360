"""What ./dev gpu brought back from a machine, as it is committed: experiments/records/DATE-GPU/PART, and a page that names the
GPU, its driver, CUDA and NCCL, what was verified and what was not, every stage with its verdict, and the kernels' errors.

    records.py [--into FOLDER] ARCHIVE.tar.gz...

Run records, tables and fits are taken, the points of a calibration compressed, for another fit, and the logs of stages that did
not pass; weights, gradients and traces are not. Records are without the costs of ops that their profile holds.
Archives of one part and day, oldest first, complete each other: a stage that a later one holds takes the place of the earlier.
"""
import argparse
import gzip
import json
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

from points import POINTS, judge

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = {".json", ".txt", ".tsv", ".csv", ".md", ".svg"}
LARGEST = 1 << 20
COMPRESSED = {"points.json"}
GPU_PAGE = "README.md"


def stages(folder):
    path = folder / "stages.tsv"
    for line in path.read_text().splitlines() if path.exists() else ():
        yield dict(zip(("name", "verdict", "seconds", "last"), line.split("\t", 3)))


def device(folder):
    """What the first run on a GPU says of it: {count, name, software}; None where no run came that far."""
    for path in sorted(folder.rglob("*measured.json")):
        try:
            found = json.loads(path.read_text())["environment"].get("devices")
        except (ValueError, KeyError):
            continue
        if found:
            return found
    return None


def without_costs(text):
    """A record repeats the profile that it was predicted with, which stands in a file of its own: 60 kB of each."""
    record = json.loads(text)
    if isinstance(record, dict) and isinstance(record.get("cluster"), dict):
        record["cluster"].pop("op_costs", None)
    return json.dumps(record, separators=(",", ":")) + "\n"


def copy(path, to):
    """A file of the record; what would be too large for it, if at all, compressed."""
    if path.name.endswith(("measured.json", "predicted.json")):
        try:
            to.write_text(without_costs(path.read_text()))
            return
        except ValueError:
            pass  # its stage was ended while it wrote
    if path.name not in COMPRESSED:
        shutil.copyfile(path, to)
        return
    with open(to.with_name(to.name + ".gz"), "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as f:
        f.write(path.read_bytes())


def kept(path, source, failed):
    if path.name in COMPRESSED:
        return True
    if path.suffix == ".log" or path.name == "log.txt":
        return path.relative_to(source).parts[0] in failed and path.stat().st_size <= LARGEST
    return path.suffix in KEPT and ".trace." not in path.name and path.stat().st_size <= LARGEST


def plot(folder):
    """The machine with the GPU may have no gnuplot."""
    points, picture = folder / "validate" / "points.tsv", folder / "validate" / "scatter.svg"
    if points.exists() and not picture.exists() and shutil.which("gnuplot"):
        script = ROOT / "experiments" / "validate_gpu" / "scatter.gp"
        subprocess.run([ROOT / "experiments" / "draw.sh", script, points.parent], check=True)


def merge(source, target):
    """The table of both: the verdicts of `source`, and of `target` those of stages that `source` did not run."""
    rows = {s["name"]: s for s in stages(target)}
    rows |= {s["name"]: s for s in stages(source) if s["verdict"] != "waiting" or s["name"] not in rows}
    (target / "stages.tsv").write_text("".join("\t".join(s.values()) + "\n" for s in rows.values()))


def take(archive, into):
    with tempfile.TemporaryDirectory() as scratch, tarfile.open(archive) as tar:
        tar.extractall(scratch, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        (source,) = pathlib.Path(scratch).iterdir()
        versions = (source / "versions.txt").read_text()
        gpu = re.search(r"^GPU (.*)$", versions, re.M)
        name = re.sub("[^a-z0-9]+", "-", gpu[1].lower()) if gpu else "no-gpu"
        page = into / f"{versions[:10]}-{name}"
        target = page / source.name.removeprefix("gpu-")
        failed = {s["name"] for s in stages(source) if s["verdict"] not in ("passed", "skipped")}
        target.mkdir(parents=True, exist_ok=True)
        merge(source, target)
        for stage in (p.name for p in source.iterdir() if p.is_dir()):
            shutil.rmtree(target / stage, ignore_errors=True)
        for path in sorted(p for p in source.rglob("*") if p.is_file() and kept(p, source, failed)):
            if path == source / "stages.tsv":
                continue
            to = target / path.relative_to(source)
            to.parent.mkdir(parents=True, exist_ok=True)
            copy(path, to)
        plot(target)
        return page


def verified(parts):
    """What was shown, and what was not: POINTS, by the verdicts of all parts."""
    verdicts = {f"{part.name}/{s['name']}": s["verdict"] for part in parts for s in stages(part)}
    judged = [(point, *judge(sets, verdicts)) for point, sets in POINTS]
    for title, wanted in (("Verified", True), ("Not verified", False)):
        lines = [f"- {point} ({why})\n" for point, holds, why in judged if holds is wanted]
        yield f"\n## {title}\n\n{''.join(lines) or 'Nothing.'}"


def errors(part):
    """Of each kernel's case the worst error over what is allowed, by number type."""
    worst = {}
    for path in sorted(part.glob("*/kernels.tsv")):
        if "-again" in path.parent.name or part.name == "sanitize":
            continue
        for case, kind, tensor, ratio, *_ in (line.split("\t") for line in path.read_text().splitlines()[1:]):
            types = worst.setdefault(case, {})
            if kind not in types or float(ratio) > float(types[kind][0]):
                types[kind] = ratio, tensor
    if not worst:
        return
    yield "\nErrors of the kernels over what is allowed, and the tensor that has them:\n\n"
    yield "| case | fp32 | bf16 | fp16 |\n|---|---|---|---|\n"
    for case, types in worst.items():
        cells = (" ".join(types[kind]) if kind in types else "" for kind in ("fp32", "bf16", "fp16"))
        yield f"| {case} | {' | '.join(cells)} |\n"


def section(part):
    versions = (part / "versions.txt").read_text()
    commit = re.search(r"^[0-9a-f]{40}$", versions, re.M)
    peer = re.search(r"^torch .*$", versions, re.M)
    yield f"\n## {part.name}\n\nBuilt from {commit[0] if commit else 'an unknown commit'}{'; ' + peer[0] if peer else ''}.\n\n"
    yield "| stage | verdict | s | last line |\n|---|---|---:|---|\n"
    for s in stages(part):
        last = s["last"].replace("|", "\\|")
        yield f"| {s['name']} | {s['verdict']} | {s['seconds']} | {last} |\n"
    yield from errors(part)


def describe(page):
    """The page of one GPU and day, from what its parts' folders say."""
    parts = sorted((p.parent for p in page.glob("*/stages.tsv")), key=lambda p: (p.name != "first", p.name))
    text = f"# {page.name[:10]}\n"
    seen = [device(p) for p in parts]
    for gpu in sorted({f"{d['count']} x {d['name']}, {d['software']}" for d in seen if d}):
        text += f"\n{gpu}.\n"
    text += "".join(verified(parts)) + "".join(line for part in parts for line in section(part))
    (page / GPU_PAGE).write_text(text)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("archive", nargs="+", type=pathlib.Path)
    p.add_argument("--into", type=pathlib.Path, default=ROOT / "experiments" / "records")
    args = p.parse_args()
    for page in sorted({take(archive, args.into) for archive in args.archive}):
        describe(page)
        print(page / GPU_PAGE)


if __name__ == "__main__":
    main()
