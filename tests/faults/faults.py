#!/usr/bin/env python3
"""Signals to every process of a job at random instants: what must hold of each is that all ends soon, with the right exit status,
in at most one message, and leaves no process, no shared memory and no file, whole outputs aside.

    faults.py SHARDLAB SOURCES [--events N] [--seed S] [--verbose]

An event: a command (measure, validate, calibrate, predict --table) with 1, 2 or 4 ranks, under our own launcher or the user's
mpirun, a victim among its processes (the command, mpirun, a rank, or Ctrl-C's whole foreground group), a signal and an instant. Exit
status: above 0 where the signal ended anything, else that of the command; whether the command was faster than the signal is seen
from its status 0. A rank that is stopped is given up by those that wait for it; one that stops after its last call is waited for.
"""
import argparse
import concurrent.futures
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGSTOP]
LIMIT_S, STOPPED_S = 10, 3  # a rank that stops is given up after STOPPED_S


def processes():
    """pid -> (parent, command line) of all that runs."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as file:
                stat = file.read()
            with open(f"/proc/{name}/cmdline", "rb") as file:
                line = file.read().replace(b"\0", b" ").decode(errors="replace")
        except (OSError, ProcessLookupError):
            continue
        fields = stat.rpartition(")")[2].split()
        if fields[0] != "Z":
            found[int(name)] = (int(fields[1]), line)
    return found


def of_job(mark, among=None):
    """Processes that have `mark` in their environment."""
    found = []
    for pid in processes() if among is None else among:
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark.encode() in file.read():
                    found.append(pid)
        except OSError:
            continue
    return found


def left_of(job):
    """What a job of this name has left in memory and in /tmp."""
    return [f"{folder}/{name}" for folder in ("/dev/shm", "/tmp") for name in os.listdir(folder) if job in name]


def is_janitor(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip() == "shardlab-clean"
    except OSError:
        return True


class Event:
    def __init__(self, args, random_, number, table):
        self.args, self.number, self.table = args, number, table
        self.kind = random_.choice(["measure"] * 4 + ["validate", "validate", "calibrate", "table", "mpirun"])
        self.world = random_.choice([1, 2, 2, 4]) if self.kind in ("measure", "validate") else 2
        self.signal = random_.choice(SIGNALS)
        self.victim = random_.choice(["command", "command", "group", "mpirun", "rank", "rank"])
        self.delay = random_.choice([random_.uniform(0, 0.4), random_.uniform(0, 3)])
        self.pick = random_.random()
        self.steps = 60 if self.signal != signal.SIGSTOP else 2000
        if self.signal == signal.SIGSTOP:  # only a rank's stop is ours to notice
            self.victim, self.kind = "rank", random_.choice(["measure", "validate", "mpirun"])
            self.world = 2 if self.kind == "mpirun" else max(self.world, 2)
        if self.world == 1 or (self.kind == "table" and self.victim == "mpirun"):  # there is no other process
            self.victim = "group" if self.victim == "group" else "command"

    def command(self):
        shardlab, sources = self.args.shardlab, self.args.sources
        job = ["--model", "gpt2-tiny", "--config", f"{sources}/examples/ds_zero2.json", "--seq", "32", "--data",
               f"{sources}/examples/corpus.txt", "--world", str(self.world), "--steps", str(self.steps)]
        outputs = ["--json", "out.json", "--trace", "out.trace"]
        if self.kind == "measure":
            return [shardlab, "measure", *job, *outputs, "--save", "out.safetensors"]
        if self.kind == "mpirun":
            return ["mpirun", "--oversubscribe", "-np", "2", shardlab, "measure", *job, *outputs, "--save", "out.safetensors"]
        if self.kind == "validate":
            return [shardlab, "validate", *job, *outputs, "--time-tolerance", "1000"]
        if self.kind == "calibrate":
            return [shardlab, "calibrate", "--out", "out.json", "--quick"]
        return [shardlab, "predict", "--table", self.table, "--out", "out.csv", "--jobs", "2"]

    def victims(self, leader):
        everything = processes()
        mine = [pid for pid in of_job(self.mark) if pid in everything and not is_janitor(pid)]
        if self.victim == "mpirun":
            return [pid for pid in mine if everything[pid][1].startswith(("mpirun", "/usr/bin/mpirun"))][:1]
        if self.victim == "rank":
            if self.signal == signal.SIGSTOP:  # of the others none waits for ever for one that is stopped
                mine = of_job("OMPI_COMM_WORLD_RANK=", mine)
            ranks = [pid for pid in mine if pid != leader and "mpirun" not in everything[pid][1].split(" ")[0] and
                     not any(parent == pid for parent, _ in everything.values())]
            return [ranks[int(self.pick * len(ranks))]] if ranks else []
        return [leader]

    def strike(self, leader):
        victims = self.victims(leader)
        if self.victim == "group":
            os.killpg(leader, self.signal)
            return True
        for pid in victims:
            try:
                os.kill(pid, self.signal)
            except ProcessLookupError:
                return False
        return bool(victims)

    def run(self):
        self.folder, self.late = tempfile.mkdtemp(prefix="faults-"), False
        self.job = os.urandom(8).hex()  # what an earlier run left is not ours
        self.mark = f"SHARDLAB_JOB={self.job}"
        name, _, value = self.mark.partition("=")
        environment = dict(os.environ, **{name: value}, SHARDLAB_TIMEOUT_S=str(STOPPED_S), OMPI_ALLOW_RUN_AS_ROOT="1",
                           OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
        with open(f"{self.folder}/stdout", "w") as out, open(f"{self.folder}/stderr", "w") as err:
            job = subprocess.Popen(self.command(), cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=err, start_new_session=True)
        time.sleep(self.delay)
        hit = False
        while job.poll() is None and not hit:  # the victim may not be there yet
            hit = self.strike(job.pid)
            time.sleep(0.0 if hit else 0.02)
        struck = time.monotonic()
        goes_on = self.kind == "table" and self.victim == "rank"  # the others do its rows
        limit = LIMIT_S if hit and not goes_on else 120
        try:
            status = job.wait(timeout=limit + 5)
        except subprocess.TimeoutExpired:
            status = None
        took = time.monotonic() - struck
        faults = self.judge(hit, status, took, limit)
        for pid in of_job(self.mark):
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)
        return faults

    def judge(self, hit, status, took, limit):
        faults = []
        if status is None or took > limit:
            self.late = True
            faults.append(f"still there {took:.1f} s after the signal" if status is None else f"took {took:.1f} s")
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline and of_job(self.mark):
            time.sleep(0.05)
        left = of_job(self.mark)
        everything = processes()
        if left:
            faults.append("processes are left: " + "; ".join(everything.get(pid, (0, "?"))[1][:80] for pid in left))
        while time.monotonic() < deadline and left_of(self.job):  # by the janitor
            time.sleep(0.05)
        if left_of(self.job):
            faults.append(f"left: {left_of(self.job)}")
        faults += self.files(hit, status)
        return faults

    def files(self, hit, status):
        faults = []
        names = sorted(name for name in os.listdir(self.folder) if name not in ("stdout", "stderr"))
        hidden = [name for name in names if name.startswith(".")]
        alone = self.kind == "mpirun" or (self.signal == signal.SIGKILL and (self.kind == "table" or self.world == 1))
        if hidden and not (alone and self.signal in (signal.SIGKILL, signal.SIGSTOP)):  # nobody is there who could sweep
            faults.append(f"hidden files are left: {hidden}")
        for name in names:
            if name.endswith((".json", ".trace")) and name not in hidden:
                try:
                    with open(f"{self.folder}/{name}") as file:
                        json.load(file)
                except ValueError:
                    faults.append(f"{name} is not whole")
        with open(f"{self.folder}/stderr", errors="replace") as file:
            text = file.read()
        if not hit and status != 0:
            faults.append(f"status {status} without a signal: {text[-300:]}")
        lines = [line for line in text.splitlines() if line.strip()]
        said = [line for line in lines if not line.startswith(("shardlab: warning", "measured:", "  "))]
        if hit and status == 0 and self.victim in ("command", "group") and "out.json" not in names and self.kind != "table":
            faults.append("status 0 without a result")
        if self.kind != "mpirun" and len(said) > 1:
            faults.append(f"{len(said)} lines: " + " | ".join(said[:6]))
        return faults

    def text(self):
        return (f"{self.kind}, world {self.world}: {self.signal.name} to the {self.victim} after {self.delay:.2f} s")


def make_table(sources, folder):
    """A table long enough to be caught at work."""
    path = f"{folder}/table.csv"
    with open(f"{sources}/experiments/published/training/tables/hagemann.csv") as file:
        lines = file.read().splitlines()
    with open(path, "w") as file:
        file.write("\n".join(lines[:200]) + "\n")
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shardlab")
    parser.add_argument("sources")
    parser.add_argument("--events", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=3)
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    random_ = random.Random(args.seed)
    bad, late, begun = 0, [], time.monotonic()

    def tell(event, faults):
        if faults or args.verbose:
            print(f"{'FAULT' if faults else 'ok   '} {event.number}: {event.text()}" + "".join(f"\n      {f}" for f in faults),
                  flush=True)
        return bool(faults)

    with tempfile.TemporaryDirectory(prefix="fault-table-") as folder:
        table = make_table(args.sources, folder)
        events = [Event(args, random_, number, table) for number in range(args.events)]
        with concurrent.futures.ThreadPoolExecutor(args.at_once) as pool:
            for event, faults in zip(events, pool.map(Event.run, events)):
                if event.late and len(faults) == 1:  # and nothing else is wrong
                    late.append(event)
                else:
                    bad += tell(event, faults)
        # How long an end takes also depends on what else this machine does: who was late has to be in time alone.
        for event in late:
            bad += tell(event, event.run())
    print(f"{args.events} events, {bad} with faults, {len(late)} late and run again alone, {time.monotonic() - begun:.0f} s; "
          f"seed {args.seed}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
