"""Events: what a job needs is not there. Limits of the process (address space, size of files, open files, processes), file systems
that are full or read-only, inputs that are cut short or replaced while it runs, and two runs with the same outputs in one folder.
It either does all of it, or ends with a status above 0, in one message, and with nothing of what it began."""
import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import time

from jobs import LIMIT_S, Event, processes

KINDS = ["address space", "file size", "open files", "processes", "full", "read-only", "cut data", "cut weights", "replaced data",
         "replaced config", "two runs", "cut config", "cut model", "full NVMe", "replaced model", "cut tokens", "replaced weights", "removed data"]
MODEL = {"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 32, "vocab_size": 256, "n_positions": 64, "resid_pdrop": 0,
         "embd_pdrop": 0, "attn_pdrop": 0}
NVME = {"train_micro_batch_size_per_gpu": 2, "optimizer": {"type": "AdamW"}, "zero_optimization": {
    "stage": 3, "sub_group_size": 10000, "offload_optimizer": {"device": "nvme", "nvme_path": "nvme"}}}
MIB = 1 << 20
CHANGES = ("cut", "replaced", "removed")
USERS = 54321  # and those behind it: users of no other process, for a limit that is counted by user


def can_mount():
    folder = f"/tmp/faults-mount-{os.getpid()}"
    os.mkdir(folder)
    try:
        done = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True).returncode == 0
        if done:
            subprocess.run(["umount", folder], capture_output=True)
        return done
    except OSError:
        return False
    finally:
        os.rmdir(folder)


def skipped():
    """Kinds that this machine cannot show, with the reason."""
    reasons = {}
    if not can_mount():
        reasons.update({kind: "no right to mount" for kind in ("full", "full NVMe", "read-only")})
    if os.getuid() == 0:  # whom no such limit holds
        try:
            with open("/proc/self/status") as file:
                capable = int(next(line for line in file if line.startswith("CapEff")).split()[1], 16) >> 7 & 1  # SETUID
            with open("/proc/self/uid_map") as file:  # of a namespace, which may have few users
                capable &= sum(int(line.split()[2]) for line in file) > 2 * USERS
        except (OSError, StopIteration):
            capable = 0
        if not capable:
            reasons["processes"] = "no right to be another user"
    return reasons


class Scarce(Event):
    def __init__(self, args, number, random_, what):
        super().__init__(args, number)
        self.what = what
        self.command_name = random_.choice(["measure", "measure", "predict"]) if not what.endswith(("data", "weights", "tokens", "NVMe")) else "measure"
        self.world = random_.choice([1, 2])
        self.steps = 30 if what.split(" ")[0] in CHANGES else 20
        self.amount = random_.random()
        self.delay = random_.uniform(0, 4)
        self.mounted = None

    def text(self):
        return f"{self.command_name}, world {self.world}: {self.what}, {self.amount:.3f}, {self.delay:.2f} s"

    # --- before ---

    def prepare(self):
        self.work = f"{self.folder}/work"
        os.mkdir(self.work)
        self.data, self.init, self.config = f"{self.work}/data.txt", None, f"{self.work}/config.json"
        self.model = "gpt2-tiny"
        if self.what in ("full", "read-only"):
            self.mount()
        else:
            shutil.copy(f"{self.args.sources}/examples/corpus.txt", self.data)
            shutil.copy(f"{self.args.sources}/examples/ds_zero2.json", self.config)
        if self.what.endswith("model"):
            self.model = f"{self.work}/model.json"
            self.write(self.model, MODEL)
        if self.what == "cut tokens":
            self.data = f"{self.work}/tokens.bin"
            self.write_tokens()
        if self.what == "full NVMe":
            self.write(self.config, NVME)
            os.mkdir(f"{self.work}/nvme")
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={4096 * int(1 + 600 * self.amount)}", "tmpfs", f"{self.work}/nvme"], check=True)
            self.mounted = f"{self.work}/nvme"
        if self.what.endswith("weights"):
            self.init = f"{self.work}/init.safetensors"
            subprocess.run([*self.base("measure", 1), "--steps", "1", "--save", self.init, "--quiet"], check=True,
                           stdout=subprocess.DEVNULL)
        if self.what == "processes" and os.getuid() == 0:
            for path in (self.folder, self.work):
                os.chown(path, USERS + self.number, USERS + self.number)

    @staticmethod
    def write(path, value):
        with open(path, "w") as file:
            json.dump(value, file)

    def write_tokens(self):
        """A shard as llm.c writes them: 256 words of 4 bytes, then tokens of 2."""
        with open(f"{self.args.sources}/examples/corpus.txt", "rb") as text, open(self.data, "wb") as file:
            tokens = text.read()
            file.write(struct.pack("<256i", 20240520, 1, len(tokens), *[0] * 253))
            file.write(b"".join(struct.pack("<H", token) for token in tokens))

    def mount(self):
        """Inputs stay outside."""
        size = 4096 * int(1 + 100 * self.amount)
        options = f"size={size}" + (",ro" if self.what == "read-only" else "")
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", self.work], check=True)
        self.mounted = self.work
        self.data, self.config = f"{self.args.sources}/examples/corpus.txt", f"{self.args.sources}/examples/ds_zero2.json"

    def clean(self):
        if self.mounted is not None:
            subprocess.run(["umount", "-l", self.mounted])

    def limits(self):
        what, amount = self.what, self.amount
        if what == "address space":
            return resource.RLIMIT_AS, int((20 + 1500 * amount) * MIB)
        if what == "file size":
            return resource.RLIMIT_FSIZE, int(300000 * amount)
        if what == "open files":
            return resource.RLIMIT_NOFILE, 4 + int(40 * amount)
        if what == "processes":
            mine = 0 if os.getuid() == 0 else sum(os.stat(f"/proc/{pid}").st_uid == os.getuid() for pid in processes())
            return resource.RLIMIT_NPROC, mine + 1 + int(12 * amount)
        return None

    def preexec(self):
        limit = self.limits()
        if self.what == "processes" and os.getuid() == 0:
            os.setgroups([])
            os.setgid(USERS + self.number)
            os.setuid(USERS + self.number)
        if limit is not None:
            resource.setrlimit(limit[0], (limit[1], limit[1]))

    # --- the job ---

    def base(self, name, world):
        job = [self.args.shardlab, name, "--model", self.model, "--config", self.config, "--seq", "32", "--world", str(world)]
        return job + (["--data", self.data] if name == "measure" else [])

    def command(self):
        outputs = ["--json", "out.json", "--trace", "out.trace"]
        if self.command_name == "predict":
            return [*self.base("predict", self.world), *outputs]
        init = ["--init", self.init] if self.init else []
        return [*self.base("measure", self.world), *init, "--steps", str(self.steps), *outputs, "--save", "out.safetensors"]

    def happen(self, job):
        kind, _, what = self.what.partition(" ")
        if self.what == "two runs":
            time.sleep(self.delay / 2)
            with open(f"{self.folder}/stderr.other", "w") as err:
                other = subprocess.Popen(self.command(), cwd=self.work, env=dict(self.environment, SHARDLAB_JOB=self.job[::-1]),
                                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err, start_new_session=True)
            try:
                self.other = other.wait(timeout=60)
            except subprocess.TimeoutExpired:
                other.send_signal(signal.SIGTERM)
                self.other = None
        elif kind in CHANGES:
            time.sleep(self.delay)
            path = {"data": self.data, "tokens": self.data, "weights": self.init, "config": self.config, "model": self.model}[what]
            if kind == "removed":
                os.unlink(path)
            elif kind == "cut":
                os.truncate(path, int(os.path.getsize(path) * self.amount))
            else:
                with open(f"{self.folder}/new", "wb") as file:
                    file.write(os.urandom(int(3000 * self.amount)))
                os.replace(f"{self.folder}/new", path)
        return True

    def limit(self, hit):
        return 60  # a job that is not disturbed runs to its end

    def expect(self, hit, status, names, said):
        faults = []
        made = [name for name in names if name not in self.given]
        wanted = ["out.json", "out.trace"] + (["out.safetensors"] if self.command_name == "measure" else [])
        if status == 0 and self.what != "read-only" and not set(wanted) <= set(made):
            faults.append(f"status 0 without {set(wanted) - set(made)}")
        if status == 0 and self.what == "read-only":
            faults.append("status 0 on a file system that is read-only")
        if status is not None and (status < 0 or status > 2):
            faults.append(f"status {status}")
        if status != 0 and len(said) != 1:
            faults.append(f"status {status}, {len(said)} lines: " + " | ".join(said[:6]))
        if self.what == "two runs" and self.other != 0:
            faults.append(f"the other run: status {self.other}")
        return faults


def scarce(args, first, random_, count):
    reasons = skipped()
    for kind, reason in reasons.items():
        print(f"skipped: {kind}: {reason}", flush=True)
    kinds = [kind for kind in KINDS if kind not in reasons]
    return [Scarce(args, first + i, random_, kinds[i % len(kinds)]) for i in range(count)]
