"""What ./dev gpu brought back from a machine, as it is committed: experiments/records/DATE-GPU/PART, and a page that names
the GPU, its driver, CUDA and NCCL, and every stage with its verdict.

    records.py [--into FOLDER] ARCHIVE.tar.gz...

Run records, tables and fits are taken, and the logs of stages that did not pass; weights, gradients and traces are not.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = {".json", ".txt", ".tsv", ".csv", ".md", ".svg"}
LARGEST = 1 << 20
GPU_PAGE = "README.md"


def stages(folder):
    for line in (folder / "stages.tsv").read_text().splitlines():
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


def kept(path, failed):
    if path.suffix == ".log":
        return path.stem in failed
    return path.suffix in KEPT and ".trace." not in path.name and path.stat().st_size <= LARGEST


def plot(folder):
    """The machine with the GPU may have no gnuplot."""
    points, picture = folder / "validate" / "points.tsv", folder / "validate" / "scatter.svg"
    if points.exists() and not picture.exists() and shutil.which("gnuplot"):
        script = ROOT / "experiments" / "validate_gpu" / "scatter.gp"
        subprocess.run(["gnuplot", "-c", script, points, picture], check=True)


def take(archive, into):
    with tempfile.TemporaryDirectory() as scratch, tarfile.open(archive) as tar:
        tar.extractall(scratch)
        (source,) = pathlib.Path(scratch).iterdir()
        date = (source / "versions.txt").read_text()[:10]
        gpu = device(source)
        name = re.sub("[^a-z0-9]+", "-", gpu["name"].lower()) if gpu else "no-gpu"
        page = into / f"{date}-{name}"
        target = page / source.name.removeprefix("gpu-")
        failed = {s["name"] for s in stages(source) if s["verdict"] not in ("passed", "skipped")}
        shutil.rmtree(target, ignore_errors=True)
        for path in sorted(p for p in source.rglob("*") if p.is_file() and kept(p, failed)):
            to = target / path.relative_to(source)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to)
        plot(target)
        return page


def describe(page):
    """The page of one GPU and day, from what its parts' folders say."""
    parts = sorted(p.parent for p in page.glob("*/stages.tsv"))
    text = f"# {page.name[:10]}\n"
    seen = [device(p) for p in parts]
    for gpu in {f"{d['count']} x {d['name']}, {d['software']}" for d in seen if d}:
        text += f"\n{gpu}.\n"
    for part in parts:
        versions = (part / "versions.txt").read_text()
        commit = re.search(r"^[0-9a-f]{40}$", versions, re.M)
        peer = re.search(r"^torch .*$", versions, re.M)
        text += f"\n## {part.name}\n\nBuilt from {commit[0] if commit else 'an unknown commit'}" \
                f"{'; ' + peer[0] if peer else ''}.\n\n| stage | verdict | s | last line |\n|---|---|---:|---|\n"
        for s in stages(part):
            last = s["last"].replace("|", "\\|")
            text += f"| {s['name']} | {s['verdict']} | {s['seconds']} | {last} |\n"
    (page / GPU_PAGE).write_text(text)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("archive", nargs="+", type=pathlib.Path)
    p.add_argument("--into", type=pathlib.Path, default=ROOT / "experiments" / "records")
    args = p.parse_args()
    for page in sorted({take(a, args.into) for a in args.archive}):
        describe(page)
        print(page / GPU_PAGE)


if __name__ == "__main__":
    main()
