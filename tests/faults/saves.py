"""Events: what befalls a training that saves. A signal to a rank or to all while a checkpoint is being written, a disk that is full, a limit
on files, the folder removed under it; and checkpoints that are damaged, cut short or have lost a file.

Whatever came, every folder that is called a checkpoint is one, a run that resumes from the latest takes the steps that an undisturbed
run takes, bit for bit, and what is no checkpoint is refused in one line that names it."""
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from jobs import LIMIT_S, Event, is_helper, left_of, of_job, processes, wait_until
from scarce import can_mount

KINDS = ["kill a rank", "kill all", "end", "full", "file size", "removed", "flipped", "cut", "lost"]
AFTERWARDS = ("flipped", "cut", "lost")  # what befalls the checkpoint, not the job
STEPS = 24
ENVIRONMENT = dict(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
made, making = {}, threading.Lock()


def undisturbed(event):
    """The losses of a run that nothing befalls, and its checkpoint; made once."""
    with making:
        if not made:
            made["folder"] = tempfile.TemporaryDirectory(prefix="fault-saves-")
            folder = made["folder"].name
            command = [*event.base(), "--steps", str(STEPS), "--checkpoint", f"{folder}/ck", "--save-every", str(STEPS // 2), "--json",
                       f"{folder}/r.json", "--quiet"]
            subprocess.run(command, check=True, env=dict(os.environ, **ENVIRONMENT), stderr=subprocess.PIPE)
            with open(f"{folder}/r.json") as file:
                made["losses"] = json.load(file)["losses"]
    return made["folder"].name, made["losses"]


class Save(Event):
    def __init__(self, args, number, random_, what):
        super().__init__(args, number)
        self.what = what
        self.random_ = random.Random(random_.random())
        self.delay = random_.uniform(0.2, 2.5)
        self.amount = random_.random()
        self.mounted = None

    def text(self):
        return f"saving: {self.what}, {self.amount:.3f}, after {self.delay:.2f} s"

    def base(self):
        sources = self.args.sources
        return [self.args.shardlab, "measure", "--model", "gpt2-tiny", "--config", f"{sources}/examples/ds_zero2.json", "--seq", "32",
                "--data", f"{sources}/examples/corpus.txt", "--world", "2"]

    def command(self):
        if self.what in AFTERWARDS:
            return [*self.base(), "--steps", str(STEPS + 2), "--resume", f"{self.work}/ck"]
        return [*self.base(), "--steps", str(STEPS), "--checkpoint", f"{self.work}/ck", "--save-every", "1", "--keep", "3"]

    # --- before ---

    def prepare(self):
        self.work = f"{self.folder}/work"
        os.mkdir(self.work)
        self.reference, self.losses = undisturbed(self)
        if self.what == "full":
            os.mkdir(f"{self.work}/ck")
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={int((1 + 40 * self.amount) * (1 << 20))}", "tmpfs", f"{self.work}/ck"],
                           check=True)
            self.mounted = f"{self.work}/ck"
        if self.what in AFTERWARDS:
            shutil.copytree(f"{self.reference}/ck", f"{self.work}/ck")
            self.damage(f"{self.work}/ck/step-{STEPS:06}")

    def damage(self, step):
        self.damaged = self.random_.choice(sorted(os.listdir(step)))
        path = f"{step}/{self.damaged}"
        size = os.path.getsize(path)
        at = int(self.amount * size)
        if self.what == "lost":
            os.unlink(path)
        elif self.what == "cut":
            os.truncate(path, at)
        else:
            with open(path, "r+b") as file:
                file.seek(at)
                byte = file.read(1)[0]
                file.seek(at)
                file.write(bytes([byte ^ 1 << self.random_.randrange(8)]))

    def preexec(self):
        if self.what == "file size":
            import resource
            limit = int(5e6 * self.amount)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    def clean(self):
        if self.mounted is not None:
            subprocess.run(["umount", "-l", self.mounted])

    # --- while it runs ---

    def ranks(self):
        everything = processes()
        return [pid for pid in of_job("OMPI_COMM_WORLD_RANK=", of_job(self.mark)) if pid in everything and not is_helper(pid)]

    def strike(self, job):
        if self.what == "removed":
            shutil.rmtree(f"{self.work}/ck", ignore_errors=True)
        elif self.what == "end":
            job.send_signal(signal.SIGTERM)
        else:
            victims = of_job(self.mark) if self.what == "kill all" else self.ranks()
            if self.what == "kill a rank" and victims:
                victims = [self.random_.choice(victims)]
            for pid in victims:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        if self.what == "kill all":  # those who would clean up, too
            wait_until(lambda: not of_job(self.mark), LIMIT_S)
            for path in left_of(self.job):
                shutil.rmtree(path, ignore_errors=True)

    def happen(self, job):
        if self.what in AFTERWARDS + ("full", "file size"):
            return False
        while job.poll() is None and not os.path.exists(f"{self.work}/ck"):
            time.sleep(0.01)
        time.sleep(self.delay)
        if job.poll() is not None:
            return False
        self.strike(job)
        return True

    def limit(self, hit):
        return 60 if self.what == "removed" else super().limit(hit)  # which may well go on

    # --- after it ---

    def run_command(self, *words):
        return subprocess.run(words, capture_output=True, text=True, env=dict(os.environ, SHARDLAB_TIMEOUT_S="10", **ENVIRONMENT), timeout=120)

    def checkpoints_are_whole(self):
        faults = []
        for name in sorted(os.listdir(f"{self.work}/ck")):
            if name.startswith("step-"):
                done = self.run_command(self.args.shardlab, "checkpoint", "verify", f"{self.work}/ck/{name}")
                if done.returncode != 0:
                    faults.append(f"{name}: {done.stderr.strip()}")
            elif name.startswith(".") and not self.what == "kill all":
                faults.append(f"hidden: {name}")
        return faults

    def goes_on(self):
        """From the latest, to the losses of a run that nothing befell."""
        record = f"{self.folder}/resumed.json"
        done = self.run_command(*self.base(), "--steps", str(STEPS + 1), "--resume", f"{self.work}/ck", "--json", record, "--quiet")
        if done.returncode != 0:
            return [f"resume: {done.stderr.strip()}"]
        with open(record) as file:
            resumed = json.load(file)
        first = resumed["first_step"]
        if resumed["losses"][:STEPS - first] != self.losses[first:]:
            return [f"resumed at {first}: {resumed['losses']}, expected {self.losses[first:]}"]
        return []

    def expect(self, hit, status, names, said):
        faults = []
        if self.what == "kill all":
            said = said[:1]  # the command itself is gone and says nothing
        elif status != 0 and len(said) != 1:
            faults.append(f"status {status}, {len(said)} lines: " + " | ".join(said[:6]))
        if self.what in AFTERWARDS:
            if status == 0 or not any(self.damaged in line for line in said):
                faults.append(f"status {status}, {self.damaged} is not named: {said}")
            return faults
        if status == 0 and hit and self.what in ("kill a rank", "kill all", "end"):
            faults.append("status 0")
        if status == 0 and self.what != "removed" and not os.path.isdir(f"{self.work}/ck/step-{STEPS:06}"):
            faults.append("status 0 without the last checkpoint")
        if os.path.isdir(f"{self.work}/ck"):
            faults += self.checkpoints_are_whole()
            if os.path.exists(f"{self.work}/ck/latest"):
                faults += self.goes_on()
        return faults


def saves(args, first, random_, count):
    kinds = list(KINDS)
    if not can_mount():
        print("skipped: full: no right to mount", flush=True)
        kinds.remove("full")
    return [Save(args, first + i, random_, kinds[i % len(kinds)]) for i in range(count)]
