"""What events of a training that saves share: what it would be undisturbed, and what must hold whatever came: every folder that is called a
checkpoint is one, the latest is the newest or the one before, a run that resumes from it takes the steps that an undisturbed run takes, bit for
bit, and nothing hidden stays beside it."""
import json
import os
import random
import subprocess
import tempfile
import threading

from jobs import Event

STEPS = 24
ENVIRONMENT = dict(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
made, making = {}, threading.Lock()


def count_of(told):
    """The most calls that a process has told of (fail_at.c, FAIL_HOW=count)."""
    with open(told) as file:
        return max(int(line.split()[1]) for line in file)


class Reference:
    """A run that nothing befalls, its losses and checkpoints; and how many calls it takes to save once, and to resume."""

    def __init__(self, event):
        self.made = tempfile.TemporaryDirectory(prefix="fault-saves-")
        self.folder = self.made.name
        self.losses = self.run(event, "saved", "save", "--steps", str(STEPS), "--checkpoint", f"{self.folder}/ck", "--save-every",
                               str(STEPS // 2))["losses"]
        self.run(event, "resumed", "read", "--steps", str(STEPS + 1), "--resume", f"{self.folder}/ck")
        self.save_calls = count_of(f"{self.folder}/saved") // 2 if event.args.fail_at else 0
        self.read_calls = count_of(f"{self.folder}/resumed") if event.args.fail_at else 0

    def run(self, event, told, on, *words):
        record = f"{self.folder}/record.json"
        count = dict(LD_PRELOAD=event.args.fail_at, FAIL_HOW="count", FAIL_ON=on, FAIL_PATH=f"{self.folder}/ck",
                     FAIL_TOLD=f"{self.folder}/{told}") if event.args.fail_at else {}
        subprocess.run([*event.base(), *words, "--json", record, "--quiet"], check=True, stderr=subprocess.PIPE,
                       env=dict(os.environ, **ENVIRONMENT, **count))
        with open(record) as file:
            return json.load(file)


def reference(event):
    """Of as many ranks and of the same model; made once."""
    with making:
        if (event.world, event.wide) not in made:
            made[event.world, event.wide] = Reference(event)
    return made[event.world, event.wide]


class Saving(Event):
    world, steps, hidden_stay, wide = 2, STEPS, False, False

    def __init__(self, args, number, random_, what):
        super().__init__(args, number)
        self.what = what
        self.random_ = random.Random(random_.random())
        self.amount = random_.random()

    def base(self):
        """The smallest model: what takes time here is the disk. A wide one has pieces that go past the page cache."""
        sources = self.args.sources
        model = f"{sources}/tests/faults/wide_mlp.json" if self.wide else f"{sources}/tests/mpi/grid_mlp.json"
        return [self.args.shardlab, "measure", "--model", model, "--config", f"{sources}/examples/ds_zero2.json",
                "--data", "random:100", "--world", str(self.world)]

    def command(self):
        return [*self.base(), "--steps", str(self.steps), "--checkpoint", f"{self.work}/ck", "--save-every", "1", "--keep", "3"]

    def prepare(self):
        self.work = f"{self.folder}/work"
        os.mkdir(self.work)
        self.reference = reference(self)
        self.losses = self.reference.losses

    # --- after it ---

    def unswept(self):
        return self.hidden_stay

    def run_command(self, *words):
        return subprocess.run(words, capture_output=True, text=True, env=dict(os.environ, SHARDLAB_TIMEOUT_S="10", **ENVIRONMENT), timeout=120)

    def checkpoints(self):
        return sorted(name for name in os.listdir(f"{self.work}/ck") if name.startswith("step-"))

    def hidden(self):
        return [f"hidden: {name}" for name in sorted(os.listdir(f"{self.work}/ck")) if name.startswith(".")]

    def checkpoints_are_whole(self):
        faults = []
        for name in self.checkpoints():
            done = self.run_command(self.args.shardlab, "checkpoint", "verify", f"{self.work}/ck/{name}")
            if done.returncode != 0:
                faults.append(f"{name}: {done.stderr.strip()}")
        return faults

    def goes_on(self, *more):
        """From the latest, to the losses of a run that nothing befell."""
        record = f"{self.folder}/resumed.json"
        done = self.run_command(*self.base(), "--steps", str(STEPS), "--resume", f"{self.work}/ck", "--json", record, "--quiet", *more)
        if "expected more" in done.stderr:  # it took them all
            return []
        if done.returncode != 0:
            return [f"resume: {done.stderr.strip()}"]
        with open(record) as file:
            resumed = json.load(file)
        first = resumed["first_step"]
        if resumed["losses"] != self.losses[first:]:
            return [f"resumed at {first}: {resumed['losses']}, expected {self.losses[first:]}"]
        if first + 1 < int((self.checkpoints() or ["step-0"])[-1].removeprefix("step-")) and not more:
            return [f"resumed at {first}, behind {self.checkpoints()}"]
        return []

    def what_is_saved(self):
        """Faults of what stands there in the end."""
        if not os.path.isdir(f"{self.work}/ck"):
            return []
        faults = self.checkpoints_are_whole() + ([] if self.hidden_stay else self.hidden())
        if os.path.exists(f"{self.work}/ck/latest"):
            faults += self.goes_on()
            if self.hidden_stay and not faults:  # until somebody saves there again
                faults += self.goes_on("--checkpoint", f"{self.work}/ck") + self.hidden()
        elif len(self.checkpoints()) > 1:
            faults.append(f"{self.checkpoints()}, and none is the latest")
        return faults
