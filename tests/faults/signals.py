"""Events: a signal to a process of a job, at a random instant.

A command (measure, validate, calibrate, predict --table) with 1, 2 or 4 ranks, under our own launcher or the user's mpirun, a victim
among its processes (the command, mpirun, a rank, or Ctrl-C's whole foreground group), a signal and an instant. Exit status: above 0
where the signal ended anything, else that of the command; whether the command was faster than the signal is seen from its status 0.
A rank that is stopped is given up by those that wait for it, and ended by its guard where nobody does."""
import os
import signal
import time

from jobs import Event, is_helper, of_job, processes

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGSTOP]


class Signal(Event):
    def __init__(self, args, number, random_, table):
        super().__init__(args, number)
        self.table = table
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

    def text(self):
        return f"{self.kind}, world {self.world}: {self.signal.name} to the {self.victim} after {self.delay:.2f} s"

    def command(self):
        if self.kind == "measure":
            return self.measure()
        if self.kind == "mpirun":
            return ["mpirun", "--oversubscribe", "-np", "2", *self.measure()]
        if self.kind == "validate":
            return [self.args.shardlab, "validate", *self.training(), "--json", "out.json", "--trace", "out.trace",
                    "--time-tolerance", "1000"]
        if self.kind == "calibrate":
            return [self.args.shardlab, "calibrate", "--out", "out.json", "--quick"]
        return [self.args.shardlab, "predict", "--table", self.table, "--out", "out.csv", "--jobs", "2"]

    def victims(self, leader):
        everything = processes()
        mine = [pid for pid in of_job(self.mark) if pid in everything and not is_helper(pid)]
        if self.victim == "mpirun":
            return [pid for pid in mine if everything[pid][1].startswith(("mpirun", "/usr/bin/mpirun"))][:1]
        if self.victim == "rank":
            parents = {everything[pid][0] for pid in mine}
            if self.signal == signal.SIGSTOP:  # of the others none waits for ever for one that is stopped
                mine = of_job("OMPI_COMM_WORLD_RANK=", mine)
                ranks = [pid for pid in mine if everything[pid][0] not in mine]  # a guard may not have its name yet
            else:
                ranks = [pid for pid in mine if pid != leader and "mpirun" not in everything[pid][1].split(" ")[0] and
                         pid not in parents]
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

    def happen(self, job):
        time.sleep(self.delay)
        hit = False
        while job.poll() is None and not hit:  # the victim may not be there yet
            hit = self.strike(job.pid)
            time.sleep(0.0 if hit else 0.02)
        return hit

    def limit(self, hit):
        goes_on = self.kind == "table" and self.victim == "rank"  # the others do its rows
        return super().limit(hit and not goes_on)

    def unswept(self):
        return self.signal == signal.SIGKILL and (self.kind == "table" or self.world == 1)

    def expect(self, hit, status, names, said):
        faults = []
        if not hit and status != 0:
            faults.append(f"status {status} without a signal: {said[-3:]}")
        if hit and status == 0 and self.victim in ("command", "group") and "out.json" not in names and self.kind != "table":
            faults.append("status 0 without a result")
        if self.kind != "mpirun" and len(said) > 1:
            faults.append(f"{len(said)} lines: " + " | ".join(said[:6]))
        return faults
