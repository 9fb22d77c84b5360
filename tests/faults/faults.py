#!/usr/bin/env python3
"""What befalls real jobs: that all ends soon, with the right exit status, in at most one message, and leaves no process, no shared
memory and no file, whole outputs aside. Signals at random instants (signals.py), ranks that stop at chosen points (stops.py), what a job needs and
does not get (scarce.py), what befalls a training that saves (saves.py), and single calls that fail (calls.py).

    faults.py SHARDLAB SOURCES [--stop-at LIBRARY] [--fail-at LIBRARY] [--events N] [--seed S] [--at-once N] [--only KIND] [--verbose]
"""
import argparse
import concurrent.futures
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import saves
import scarce
import signals
import stops


def make_table(sources, folder):
    """A table long enough to be caught at work."""
    path = f"{folder}/table.csv"
    with open(f"{sources}/experiments/published/training/tables/hagemann.csv") as file:
        lines = file.read().splitlines()
    with open(path, "w") as file:
        file.write("\n".join(lines[:200]) + "\n")
    return path


def draw(args, table):
    random_ = random.Random(args.seed)
    events = []
    if args.only in (None, "stops") and args.stop_at:
        events += stops.stops(args, 0, random_, args.events > 100)
    if args.only in (None, "scarce"):
        events += scarce.scarce(args, len(events), random_, args.events if args.only else args.events * 3 // 10)
    if args.only in (None, "signals"):
        events += [signals.Signal(args, len(events) + i, random_, table) for i in range(args.events - len(events))]
    if args.only in (None, "saves"):
        events += saves.saves(args, len(events), random_, args.events if args.only else args.events * 5 // 3)
    return events


def tell(args, event, faults):
    if faults or args.verbose:
        print(f"{'FAULT' if faults else 'ok   '} {event.number}: {event.text()}" + "".join(f"\n      {f}" for f in faults),
              flush=True)
    return bool(faults)


def enter_namespace():
    """Who may not mount a file system may do so in a namespace of users and mounts, where the system allows one."""
    if scarce.can_mount() or not shutil.which("unshare"):
        return
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode == 0:
        os.execvp("unshare", ["unshare", "-rm", sys.executable, "-B", *sys.argv])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shardlab")
    parser.add_argument("sources")
    parser.add_argument("--stop-at", default="")
    parser.add_argument("--fail-at", default="")
    parser.add_argument("--events", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=3)
    parser.add_argument("--only")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    enter_namespace()
    bad, late, begun = 0, [], time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fault-table-") as folder:
        events = draw(args, make_table(args.sources, folder))
        with concurrent.futures.ThreadPoolExecutor(args.at_once) as pool:
            for event, faults in zip(events, pool.map(lambda event: event.run(), events)):
                if event.late and len(faults) == 1:  # and nothing else is wrong
                    late.append(event)
                else:
                    bad += tell(args, event, faults)
        # How long an end takes also depends on what else this machine does: who was late has to be in time alone.
        for event in late:
            bad += tell(args, event, event.run())
    print(f"{len(events)} events, {bad} with faults, {len(late)} late and run again alone, {time.monotonic() - begun:.0f} s; "
          f"seed {args.seed}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
