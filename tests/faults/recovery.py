"""recovery.py SHARDLAB ROOT [--only NAME] [--verbose]: jobs that are started again.

Ranks are killed or stopped at chosen steps of `measure --max-restarts N`. Whatever came, the record has each step's loss once; on as many
ranks they are those of a run that nothing befell, bit for bit, on fewer within rounding. One line a restart says why, from which
checkpoint and with how many ranks, and the record's count of steps lost is theirs. Nothing is left. Checkpoints that are damaged or another
training's are passed over; an error of a rank's own, or one restart too many, ends the job with one line."""
import argparse
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from jobs import is_helper, left_of, of_job, wait_until

STEPS, EVERY, PRINT = 64, 16, 4
LINE = re.compile(r"shardlab: (?P<why>.*); restart (?P<n>\d+) of (?P<most>\d+) from step (?P<step>\d+)(?: \((?P<path>.*)\))?, "
                  r"with (?P<ranks>\d+) ranks?; steps lost: (?P<lost>\d+)$")
faults = []


def check(fine, what):
    if not fine:
        faults.append(what)


class Job:
    """A measurement in a folder of its own. `befall` is {step: what to do when that step's line is printed}, each once."""

    def __init__(self, args, name, world, befall, flags=(), config=None, steps=STEPS, restarts=2, timeout="20"):
        self.args, self.name, self.world, self.befall = args, name, world, dict(befall)
        self.folder = f"{args.folder}/{name}"
        os.makedirs(self.folder, exist_ok=True)
        settings = {"train_batch_size": 24, "optimizer": {"type": "AdamW", "params": {"lr": 0.003}}, "zero_optimization": {"stage": 2},
                    "steps_per_print": PRINT, **(config or {})}
        with open(f"{self.folder}/config.json", "w") as file:
            json.dump({key: value for key, value in settings.items() if value is not None}, file)
        root = args.root
        self.command = [args.shardlab, "measure", "--model", f"{root}/tests/mpi/grid_gpt2_dropout.json", "--config", "config.json", "--data",
                        f"{root}/tests/golden/gpt2_odd/tokens.bin", "--seq", "9", "--world", str(world), "--threads", "1", "--steps", str(steps),
                        "--checkpoint", "ck", "--save-every", str(EVERY), "--json", "record.json", *flags]
        if restarts:
            self.command += ["--max-restarts", str(restarts)]
        self.job = os.urandom(8).hex()
        self.environment = dict(os.environ, SHARDLAB_JOB=self.job, SHARDLAB_TIMEOUT_S=timeout, OMPI_ALLOW_RUN_AS_ROOT="1",
                                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

    def ranks(self):
        """{rank: id} of those that run."""
        found = {}
        for pid in of_job(f"SHARDLAB_JOB={self.job}"):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    rank = re.search(rb"\0OMPI_COMM_WORLD_RANK=(\d+)\0", file.read())
            except OSError:
                continue
            if rank and not is_helper(pid):
                found[int(rank[1])] = pid
        return found

    def strike(self, rank, number=signal.SIGKILL):
        os.kill(self.ranks()[rank], number)

    def run(self):
        job = subprocess.Popen(self.command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=open(f"{self.folder}/stderr", "w"), text=True)
        for line in job.stdout:
            step = re.match(r"step (\d+) of ", line)
            if step and int(step[1]) in self.befall:
                self.befall.pop(int(step[1]))(self)
        self.status = job.wait(timeout=120)
        with open(f"{self.folder}/stderr") as file:
            self.said = [line for line in file.read().splitlines() if line]
        self.restarts = [LINE.match(line) for line in self.said if LINE.match(line)]
        if self.args.verbose:
            print(self.name, self.status, *self.said, sep="\n  ", flush=True)
        mark = f"SHARDLAB_JOB={self.job}"
        check(wait_until(lambda: not of_job(mark), 10), f"{self.name}: processes are left")
        check(wait_until(lambda: not left_of(self.job), 10), f"{self.name}: left: {left_of(self.job)}")
        hidden = glob.glob(f"{self.folder}/.*") + glob.glob(f"{self.folder}/ck/.*")
        check(not hidden, f"{self.name}: left: {hidden}")
        return self

    def record(self):
        check(self.status == 0, f"{self.name}: status {self.status}: {self.said}")
        if self.status != 0:
            return {"losses": [], "recovery": {"restarts": -1, "steps_lost": -1}}
        with open(f"{self.folder}/record.json") as file:
            return json.load(file)

    def recovered(self, like, steps, within=0.0, first=0):
        """It was started anew from `steps`, each one of several: a job may reach its next checkpoint before it is struck. Its curve is that of
        the record `like`."""
        record = self.record()
        from_ = [int(line["step"]) for line in self.restarts]
        check(len(from_) == len(steps) and all(f in s for f, s in zip(from_, steps)), f"{self.name}: from {from_}, expected {steps}: {self.said}")
        check(record["recovery"]["restarts"] == len(steps) and [int(line["n"]) for line in self.restarts] == list(range(1, len(steps) + 1)),
              f"{self.name}: {record['recovery']}")
        check(record["recovery"]["steps_lost"] == sum(int(line["lost"]) for line in self.restarts), f"{self.name}: {record['recovery']}")
        for key in ("losses", "grad_norms", "learning_rates"):
            a, b = like[key][first:], record.get(key, [])
            if len(a) != len(b):
                check(False, f"{self.name}: {len(b)} {key}, expected {len(a)}")
            else:
                far = max((abs(x - y) / abs(x) for x, y in zip(a, b)), default=1)
                check(far <= within, f"{self.name}: {key} are off by {far:.1e}")
        check(record.get("first_step", 0) == first and record.get("steps") == STEPS - first, f"{self.name}: steps {record.get('steps')}")
        return record


def kill(rank):
    return lambda job: job.strike(rank)


def after_checkpoint(step, strike):
    """Once there is that checkpoint: what befalls it, then the job."""
    def befall(job):
        path = f"{job.folder}/ck/step-{step:06}"
        check(wait_until(lambda: os.path.isdir(path), 20), f"{job.name}: no {path}")
        strike(job, path)
    return befall


def damage(job, path):
    """That checkpoint and, where the job was faster than this script, those after it; then a rank is killed."""
    for step in sorted(glob.glob(f"{job.folder}/ck/step-*")):
        if step < path:
            continue
        file = sorted(glob.glob(f"{step}/*.safetensors"))[0]
        with open(file, "r+b") as out:
            out.seek(-5, os.SEEK_END)
            byte = out.read(1)[0]
            out.seek(-5, os.SEEK_END)
            out.write(bytes([byte ^ 4]))
    job.strike(1)


def reference(args, world):
    """A run that nothing befalls; made once."""
    if world not in args.references:
        job = Job(args, f"reference_{world}", world, {}, restarts=0).run()
        args.references[world] = job.record()
    return args.references[world]


def one(args):
    """One rank; resumed by hand before, so that it begins at step 16, and killed before and behind its first checkpoint."""
    like = reference(args, 1)
    resumed = f"{args.folder}/reference_1/ck/step-000016"
    job = Job(args, "one", 1, {20: kill(0), 44: kill(0)}, ["--resume", resumed]).run()
    job.recovered(like, [[16, 32], [16, 32, 48]], first=16)


def two(args):
    """Two ranks, in a folder that has another training's checkpoints, which are older news, and stay where this job does not write the same
    step; what the monitor wrote; and a rank that stops, which is given up after the time limit."""
    like = reference(args, 2)
    os.makedirs(f"{args.folder}/two/ck")
    shutil.copytree(f"{args.folder}/reference_2/ck/step-000048", f"{args.folder}/two/ck/step-000048")
    shutil.copytree(f"{args.folder}/reference_2/ck/step-000032", f"{args.folder}/two/ck/step-000040")
    befall = {12: kill(0), 44: lambda job: job.strike(1, signal.SIGSTOP)}
    job = Job(args, "two", 2, befall, ["--keep", "1"], {"csv_monitor": {"enabled": True, "output_path": "csv"}}, timeout="6").run()
    check(sorted(os.listdir(f"{args.folder}/two/ck")) == ["latest", "step-000040", f"step-{STEPS:06}"], f"two: kept: {os.listdir(f'{args.folder}/two/ck')}")
    record = job.recovered(like, [[0, 16], [16, 32, 48]])
    if len(job.restarts) == 2:
        check(record["recovery"]["steps_lost"] >= 12 + 44 - int(job.restarts[1]["step"]), f"two: {record['recovery']}")
        check("it waits for rank 1" in job.restarts[1]["why"] and "SHARDLAB_TIMEOUT_S" in job.restarts[1]["why"], f"two: {job.said}")
    with open(glob.glob(f"{args.folder}/two/csv/*/Train_Samples_train_loss.csv")[0]) as file:
        rows = [line.split(",")[0] for line in file.read().split()]
    check(rows == ["step", *(str(24 * (i + 1)) for i in range(STEPS))], f"two: rows of the monitor: {rows}")


def four(args):
    """Four ranks, and a checkpoint that is damaged before they die."""
    job = Job(args, "four", 4, {36: after_checkpoint(32, damage)}).run()
    job.recovered(reference(args, 4), [[16]])
    check(any("step-000032" in line and line.startswith("shardlab: warning: ") for line in job.said), f"four: nobody names it: {job.said}")


def elastic(args):
    """Four ranks, then three, then two."""
    rules = {"enabled": True, "max_train_batch_size": 24, "micro_batch_sizes": [2, 3], "min_gpus": 1, "max_gpus": 4, "version": 0.1}
    job = Job(args, "elastic", 4, {20: kill(3), 40: kill(0)}, config={"train_batch_size": None, "elasticity": rules}).run()
    record = job.recovered(reference(args, 4), [[0, 16, 32], [0, 16, 32, 48]], within=1e-4)
    check([line["ranks"] for line in job.restarts] == ["3", "2"] and record["plan"]["world"] == 2, f"elastic: {job.said}")


def used_up(args):
    job = Job(args, "used_up", 2, {8: kill(0), 24: kill(1)}, restarts=1).run()
    said = [line for line in job.said if not line.startswith("shardlab: warning: ")]
    check(job.status == 1 and len(said) == 2 and len(job.restarts) == 1 and re.match(r"shardlab: error: rank 1 died .*the restarts are used up", said[1]),
          f"used_up: {job.status}, {job.said}")
    check(not os.path.exists(f"{job.folder}/record.json"), "used_up: a record")


def own_error(args):
    """What a rank says of itself is no fault of the machine."""
    job = Job(args, "own_error", 2, {}, steps=20, config={"optimizer": {"type": "AdamW", "params": {"lr": 1e30}}}).run()
    check(job.status == 1 and len(job.said) == 1 and "the loss is no finite number" in job.said[0], f"own_error: {job.status}, {job.said}")


CASES = [one, two, four, elastic, used_up, own_error]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shardlab")
    parser.add_argument("root")
    parser.add_argument("--only")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    args.references = {}
    with tempfile.TemporaryDirectory(prefix="recovery-") as args.folder:
        for case in CASES:
            if args.only in (None, case.__name__):
                case(args)
    print(f"{len(faults)} faults", *faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
