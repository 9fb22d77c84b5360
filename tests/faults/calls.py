"""Events: one call to the file system goes wrong at a chosen place (fail_at.c): while a checkpoint is saved or read, while a result is written,
while states stand on NVMe. An error ends the job in one line that says it, or is warned of where the job can do without; a short write or read
is gone on from; a process that is killed there leaves what came before whole."""
import json
import os
import shutil
import subprocess

from jobs import Event
from saving import ENVIRONMENT, STEPS, Saving, count_of

SAID = {"eio": "Input/output error", "enospc": "No space left on device"}


def losses_of(record):
    with open(record) as file:
        return json.load(file)["losses"]


class Call(Saving):
    """`what`: how it fails, in a job of how many ranks, and whether its model is the wide one."""
    steps, on = 5, "save"

    def __init__(self, args, number, random_, what):
        super().__init__(args, number, random_, what)
        self.how, self.world, self.wide = (*what, False)[:3]
        self.rank = random_.randrange(self.world)
        self.hidden_stay = self.how == "kill" and self.world == 1
        self.at = 0

    def text(self):
        return f"{self.on}, world {self.world}: {self.how} at call {self.at} of rank {self.rank}, {self.struck()}"

    def struck(self):
        try:
            with open(f"{self.folder}.told") as file:
                return file.read().strip()
        except OSError:
            return ""

    def path(self):
        return f"{self.work}/ck"

    def calls(self):
        """How many there may be."""
        return self.steps * self.reference.save_calls

    def prepare(self):
        super().prepare()
        self.at = 1 + int(self.amount * self.calls())
        self.environment.update(LD_PRELOAD=self.args.fail_at, FAIL_HOW=self.how, FAIL_AT=str(self.at), FAIL_ON=self.on, FAIL_PATH=self.path(),
                                FAIL_TOLD=f"{self.folder}.told", FAIL_LEAST="65536" if self.wide else "2",
                                **({"FAIL_RANK": str(self.rank)} if self.world > 1 else {}))

    def clean(self):
        if os.path.exists(f"{self.folder}.told"):
            os.unlink(f"{self.folder}.told")

    def happen(self, job):
        job.wait(timeout=60)
        return bool(self.struck())

    def ended(self, hit, status, said):
        """Faults in how it ended: what no call of it went wrong for, or none that counts, is whole."""
        if status == 0:
            with open(f"{self.folder}/stderr") as file:
                warned = SAID.get(self.how, "") in file.read()
            return [f"status 0 after {self.struck()}"] if hit and (self.how == "kill" or not warned) else []
        if not hit or self.how == "short":
            return [f"status {status} after {self.struck() or 'nothing'}: {said}"]
        if self.how == "kill":
            wanted = (-9, 0) if self.world == 1 else (1, 1)
            return [] if (status, len(said)) == wanted else [f"status {status}, {len(said)} lines: {said}"]
        if status not in (1, 2) or len(said) != 1 or SAID[self.how] not in said[0]:
            return [f"status {status}, {len(said)} lines after {self.struck()}: " + " | ".join(said[:6])]
        return []

    def expect(self, hit, status, names, said):
        faults = self.ended(hit, status, said)
        if status == 0 and not os.path.isdir(f"{self.work}/ck/step-{self.steps:06}"):
            faults.append("status 0 without the last checkpoint")
        return faults + self.what_is_saved()


class Sync(Call):
    """What is written is not on the disk. (That nobody asked whether it is would show only where the machine itself stops.)"""
    on = "sync"

    def path(self):
        return ".safetensors."

    def calls(self):
        return self.steps * 2


class Read(Call):
    on = "read"

    def calls(self):
        return self.reference.read_calls

    def prepare(self):
        super().prepare()
        shutil.copytree(f"{self.reference.folder}/ck", f"{self.work}/ck")

    def command(self):
        return [*self.base(), "--steps", str(STEPS + 1), "--resume", f"{self.work}/ck/step-{STEPS // 2:06}", "--json", "out.json"]

    def expect(self, hit, status, names, said):
        faults = self.ended(hit, status, said)
        if status == 0 and losses_of(f"{self.work}/out.json")[:STEPS // 2] != self.losses[STEPS // 2:]:
            faults.append("other losses")
        return faults


class Output(Call):
    """Results of a command: each whole, or not there."""
    steps = 2

    def path(self):
        return f"{self.work}/out."

    def calls(self):
        return 25

    def command(self):
        return [*self.base(), "--steps", "2", "--json", "out.json", "--trace", "out.trace", "--save", "out.safetensors"]

    def text(self):
        return "results, " + super().text()

    def expect(self, hit, status, names, said):
        faults = self.ended(hit, status, said)
        if status == 0 and not {"out.json", "out.trace", "out.safetensors"} <= set(names):
            faults.append(f"status 0 with {names} alone")
        if "out.safetensors" in names:
            with open(f"{self.work}/out.safetensors", "rb") as file:
                head = int.from_bytes(file.read(8), "little")
                ends = [entry["data_offsets"][1] for name, entry in json.loads(file.read(head)).items() if name != "__metadata__"]
            if os.path.getsize(f"{self.work}/out.safetensors") != 8 + head + max(ends):
                faults.append("out.safetensors is not whole")
        return faults


class Offload(Call):
    """States on NVMe, whose blocks go by io_uring."""
    on, steps, undisturbed = "nvme", 3, {}

    def path(self):
        return "/shardlab-nvme-"

    def calls(self):
        return self.undisturbed["calls"]

    def base(self):
        offload = {"device": "nvme", "nvme_path": self.work}
        with open(f"{self.work}/config.json", "w") as file:
            json.dump({"train_micro_batch_size_per_gpu": 2, "optimizer": {"type": "AdamW"}, "aio": {"block_size": 16384},
                       "zero_optimization": {"stage": 3, "sub_group_size": 1000, "offload_optimizer": offload}}, file)
        return [self.args.shardlab, "measure", "--model", f"{self.args.sources}/tests/mpi/grid_mlp.json", "--config", f"{self.work}/config.json",
                "--data", "random:100", "--world", "1", "--steps", str(self.steps), "--json", "out.json"]

    def command(self):
        return self.base()

    def prepare(self):
        self.work = f"{self.folder}/work"
        os.mkdir(self.work)
        if not self.undisturbed:
            count = dict(LD_PRELOAD=self.args.fail_at, FAIL_HOW="count", FAIL_ON="nvme", FAIL_PATH=self.path(), FAIL_TOLD=f"{self.folder}.told")
            done = subprocess.run(self.base(), cwd=self.work, capture_output=True, text=True, env=dict(os.environ, **ENVIRONMENT, **count))
            if done.returncode == 0:
                Offload.undisturbed = {"calls": count_of(f"{self.folder}.told"), "losses": losses_of(f"{self.work}/out.json")}
                os.unlink(f"{self.folder}.told")
            elif "no io_uring" in done.stderr:
                Offload.undisturbed = {"calls": 0}
            else:
                raise RuntimeError(done.stderr)
        self.reference = None
        self.at = 1 + int(self.amount * self.calls())
        self.environment.update(LD_PRELOAD=self.args.fail_at, FAIL_HOW=self.how, FAIL_AT=str(self.at), FAIL_ON=self.on, FAIL_PATH=self.path(),
                                FAIL_TOLD=f"{self.folder}.told")

    def expect(self, hit, status, names, said):
        if self.calls() == 0:
            print("skipped: a call to NVMe: this machine has no io_uring", flush=True)
            return []
        faults = self.ended(hit, status, said)
        if status == 0 and losses_of(f"{self.work}/out.json") != self.undisturbed["losses"]:
            faults.append("other losses")
        return faults


KINDS = ([(Call, (how, 1, True)) for how in ["short", "eio", "short"]] + [(Read, ("short", 1, True)), (Read, ("eio", 1, True))] +
         [(Sync, ("eio", 1))] * 2 + [(Call, (how, 1)) for how in ["eio"] * 5 + ["enospc"] * 5 + ["short"] * 4 + ["kill"] * 6] +
         [(Call, (how, 2)) for how in ("eio", "enospc", "short", "kill")] + [(Read, ("eio", 1)), (Read, ("eio", 1)), (Read, ("short", 1))] +
         [(Read, ("eio", 2)), (Output, ("eio", 1)), (Output, ("enospc", 1)), (Output, ("short", 1)), (Output, ("eio", 2))] +
         [(Offload, (how, 1)) for how in ("eio", "enospc", "short")])
