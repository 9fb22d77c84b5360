"""One part of what a machine with a GPU is asked, run from the tree or from an unpacked bundle.

    run.py --part PART [--from STAGE] [FOLDER]

Results land in FOLDER (out/gpu-PART), one folder a stage, and in FOLDER.tar.gz. A machine may be taken away at any time, and may
give back no more than one folder of few files: the table names every stage from the start, archive and table are renewed after
each, and where OUT is set, both are copied there. What fails, is late or finds no time left is a line of the table, and the
others go on. What needs a GPU is skipped, by name, where none can be used, and the line `fit` says why.

--from STAGE goes on with that stage; STAGES="NAME..." runs these alone; both keep what FOLDER holds of the others. PART_S is the
part's time in seconds, PACE=2 doubles that and all limits, QUICK=1 calibrates with fewer points. Exit status 1 where a stage
failed or was late, 2 for a wrong call.
"""
import argparse
import dataclasses
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import fit
from board import SHARED, Board
from parts import PARTS
from stage import HERE, Ended, Outcome, end_all, run

ROOT = HERE.parents[1]
PACE = float(os.environ.get("PACE", 1))
LEAST_S = 5 * PACE  # less is no time for a stage
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                epilog="\n".join(f"{name:9} {part.about}" for name, part in PARTS.items()))
    p.add_argument("--part", required=True, choices=PARTS)
    p.add_argument("--from", dest="first", metavar="STAGE")
    p.add_argument("folder", nargs="?", type=pathlib.Path)
    args = p.parse_args()
    names = [s.name for s in PARTS[args.part].stages]
    chosen = os.environ.get("STAGES", "").split()
    unknown = [name for name in [*chosen, args.first] if name and name not in names]
    if unknown:
        p.error(f"part {args.part} has no stage {', '.join(unknown)}: {', '.join(names)}")
    args.folder = (args.folder or pathlib.Path.cwd() / "out" / f"gpu-{args.part}").absolute()
    rest = PARTS[args.part].stages[names.index(args.first) if args.first else 0:]
    args.stages = [s for s in rest if not chosen or s.name in chosen]
    args.resumes = bool(chosen or args.first)
    return args


def board_of(args):
    """Where the results go, with a line for every stage that is to come."""
    also = pathlib.Path(os.environ["OUT"]) if os.environ.get("OUT") else None
    for folder in (args.folder, *([also] if also else [])):
        folder.mkdir(parents=True, exist_ok=True)
    names = [s.name for s in PARTS[args.part].stages]
    board = Board(args.folder, ["fit"] + [row for name in names for row in (name, f"{name}-again")], also)
    if args.resumes:
        board.load()
        names = [s.name for s in args.stages]
    else:
        shutil.rmtree(args.folder / SHARED, ignore_errors=True)
    for row in [row for name in names for row in (name, f"{name}-again")]:
        board.rows.pop(row, None)
        shutil.rmtree(args.folder / row, ignore_errors=True)
    board.rows |= {s.name: Outcome("waiting") for s in args.stages}
    return board


def one(board, stage, left, environment, note=""):
    """A stage within its limit and what is left of the part's time."""
    name, limit = stage.name + note, min(stage.limit * PACE, left)
    if limit < LEAST_S:
        board.note(name, Outcome("late", 0, "no time left"))
        return
    print(f"gpu: {name}", file=sys.stderr, flush=True)
    board.note(name, Outcome("running"))
    try:
        outcome = run(board.folder / name, stage.call, limit, environment | {"stage": name})
    except Ended as e:
        board.note(name, Outcome("late", 0, f"ended in its middle, by {e}"))
        raise
    board.note(name, outcome)


def again(board, stage, seconds, left, environment):
    """What failed, once more: with blocking launches an error names the launch that made it."""
    logs = board.folder / f"{stage.name}-again" / "cublaslt-%i.log"
    blocking = {"CUDA_LAUNCH_BLOCKING": "1", "CUBLASLT_LOG_LEVEL": "5", "CUBLASLT_LOG_FILE": str(logs),
                "before": str(board.folder / stage.name)}
    one(board, dataclasses.replace(stage, limit=seconds), left, environment | blocking, "-again")


def go(args, board, environment, end):
    """Every stage once, and then, in the time that is left, what failed."""
    for stage in args.stages:
        one(board, stage, end - time.monotonic(), environment)
    seconds = PARTS[args.part].again
    for stage in [s for s in args.stages if seconds and board.rows[s.name].verdict in ("FAILED", "late")]:
        if end - time.monotonic() > LEAST_S:
            again(board, stage, seconds, end - time.monotonic(), environment)


def told(number, _):
    for other in ENDING:
        signal.signal(other, signal.SIG_IGN)
    raise Ended(signal.Signals(number).name)


def hold_device():
    """Without somebody who holds it open, the driver sets the GPU up anew for each process, which takes seconds."""
    try:
        return os.open("/dev/nvidia0", os.O_RDONLY)
    except OSError:
        return None


def commit():
    """What the programs were built from: a bundle says, a tree knows."""
    listed = ROOT / "VERSION"
    if listed.exists():
        return listed.read_text()
    said = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return said.stdout or "unknown\n"


def look(board):
    """Does the machine fit? Said at once, and in the table."""
    found = fit.look(ROOT)
    for line in found.problems:
        print(f"gpu: {line}", file=sys.stderr, flush=True)
    verdict = "skipped" if found.absent else "FAILED" if found.problems else "passed"
    text = time.strftime("%Y-%m-%dT%H:%MZ\n", time.gmtime()) + commit() + "\n".join(found.found + found.problems) + "\n"
    board.write(board.folder / "versions.txt", lambda p: p.write_text(text))
    board.note("fit", Outcome(verdict, 0, found.absent or "; ".join(found.problems) or ", ".join(found.found)))
    return found.environment | {"root": str(ROOT)}


def main():
    args = arguments()
    end = time.monotonic() + float(os.environ.get("PART_S", PARTS[args.part].seconds * PACE))
    for number in ENDING:
        signal.signal(number, told)
    hold_device()
    board = board_of(args)
    end_all(args.folder)
    try:
        go(args, board, look(board), end)
    except Ended as e:
        print(f"gpu: ended by {e}", file=sys.stderr)
    board.save()
    print(board.text() + (board.trouble + "\n" if board.trouble else ""), end="")
    sys.exit(board.failed() or bool(board.trouble))


if __name__ == "__main__":
    main()
