"""Events: what befalls a training that saves. A signal to a rank or to all while a checkpoint is being written, a disk that is full, a limit
on files, the folder removed under it (Struck); checkpoints that are damaged, cut short, mixed with another or have lost a file (Damaged); and
those to which that happens while they are read (Beside). Single calls that fail are drawn from calls.py.

What must hold after each is in saving.py; what is no checkpoint is refused in one line that names it."""
import os
import shutil
import signal
import subprocess
import time

import calls
from jobs import LIMIT_S, is_helper, left_of, of_job, processes, wait_until
from saving import STEPS, Saving
from scarce import can_mount

STRIKES = ["kill a rank", "kill all", "end", "full", "file size", "removed"]
DAMAGES = ["flipped", "cut", "flipped", "lost", "mixed", "flipped"]


class Struck(Saving):
    def __init__(self, args, number, random_, what):
        super().__init__(args, number, random_, what)
        self.delay = random_.uniform(0, 2)
        self.mounted = None
        self.world = 1 if what in ("full", "file size") and random_.random() < 0.7 else 2
        self.hidden_stay = what == "kill all"

    def text(self):
        return f"saving, world {self.world}: {self.what}, {self.amount:.3f}, after {self.delay:.2f} s"

    # --- before ---

    def prepare(self):
        super().prepare()
        if self.what == "full":
            os.mkdir(f"{self.work}/ck")
            self.given.add("ck")
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={4096 * int(1 + 200 * self.amount)}", "tmpfs", f"{self.work}/ck"], check=True)
            self.mounted = f"{self.work}/ck"

    def preexec(self):
        if self.what == "file size":
            import resource
            limit = int(1.2e5 * self.amount)
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
        if self.what in ("full", "file size"):
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

    def expect(self, hit, status, names, said):
        faults = []
        if status != 0 and len(said) != 1 and self.what != "kill all":  # the command itself is gone and says nothing
            faults.append(f"status {status}, {len(said)} lines: " + " | ".join(said[:6]))
        # a rank that is killed behind its MPI_Finalize has done all there was to do, and mpirun says so
        if status == 0 and hit and self.what in ("kill all", "end"):
            faults.append("status 0")
        if status == 0 and self.what != "removed" and not os.path.isdir(f"{self.work}/ck/step-{STEPS:06}"):
            faults.append("status 0 without the last checkpoint")
        return faults + self.what_is_saved()

    def checkpoints_are_whole(self):
        """But for a file that the removal took, which goes on in a folder that has become a checkpoint meanwhile."""
        faults = super().checkpoints_are_whole()
        told = ("No such file or directory", "it has neither manifest.json nor latest")
        self.taken = [f for f in faults if self.what == "removed" and f.endswith(told)]
        return [f for f in faults if f not in self.taken]

    def goes_on(self, *more):
        return [] if self.taken else super().goes_on(*more)


class Damaged(Saving):
    """A checkpoint of one or two ranks, read by one or two."""

    def __init__(self, args, number, random_, what):
        super().__init__(args, number, random_, what)
        self.of = random_.choice([1, 2])
        self.by = random_.choice([1, 1, 1, 1, 1, 2])

    def text(self):
        return f"resuming, world {self.by}, what {self.of} saved: {self.what} {getattr(self, 'damaged', '')}, {self.amount:.3f}"

    def command(self):
        return [*self.base(), "--steps", str(STEPS + 2), "--resume", f"{self.work}/ck"]

    def prepare(self):
        self.world = self.of
        super().prepare()
        self.world = self.by
        shutil.copytree(f"{self.reference.folder}/ck", f"{self.work}/ck")
        self.damage(f"{self.work}/ck/step-{STEPS:06}")

    def damage(self, step):
        names = sorted(os.listdir(step))
        if self.what == "mixed":  # the index and config.json are the same in all
            self.damaged = self.random_.choice([name for name in names if name.endswith("safetensors") or name == "manifest.json"])
            shutil.copy(f"{self.work}/ck/step-{STEPS // 2:06}/{self.damaged}", f"{step}/{self.damaged}")
            return
        self.damaged = self.random_.choice(names + ["latest"])
        path = f"{step}/{self.damaged}" if self.damaged != "latest" else f"{self.work}/ck/latest"
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

    def named(self, said):
        """Whose manifest is another's, its files are said to be damaged; a latest that names another, that is said to be missing."""
        among = {"manifest.json": ["safetensors"], "latest": ["latest", "/ck/step-"]} if self.what in ("mixed", "flipped") else {}
        return any(word in line for line in said for word in [self.damaged, *among.get(self.damaged, [])])

    def expect(self, hit, status, names, said):
        if status in (1, 2) and len(said) == 1 and self.named(said):
            return []
        return [f"status {status}, {self.damaged} is not named: {said}"]


class Beside(Saving):
    """A checkpoint that goes, or is cut short, while it is read: it is resumed from all the same, or refused in one line."""
    world = 1

    def __init__(self, args, number, random_, what):
        super().__init__(args, number, random_, what)
        self.delay = random_.uniform(0, 0.1)

    def text(self):
        return f"resuming: {self.what}, {self.amount:.3f}, after {self.delay:.3f} s"

    def command(self):
        return [*self.base(), "--steps", str(STEPS), "--resume", f"{self.work}/ck", "--json", "out.json"]

    def prepare(self):
        super().prepare()
        shutil.copytree(f"{self.reference.folder}/ck/step-{STEPS // 2:06}", f"{self.work}/ck")

    def happen(self, job):
        time.sleep(self.delay)
        if self.what == "removed beside":
            shutil.rmtree(f"{self.work}/ck")
        else:
            path = f"{self.work}/ck/{self.random_.choice(sorted(os.listdir(self.work + '/ck')))}"
            os.truncate(path, int(self.amount * os.path.getsize(path)))
        return True

    def expect(self, hit, status, names, said):
        if status == 0:
            losses = calls.losses_of(f"{self.work}/out.json")
            return [] if losses == self.losses[STEPS // 2:] else [f"{losses}, expected {self.losses[STEPS // 2:]}"]
        return [] if status in (1, 2) and len(said) == 1 and "/ck" in said[0] else [f"status {status}: {said}"]


def saves(args, first, random_, count):
    """Most of them cost one process, and little."""
    strikes = list(STRIKES)
    if not can_mount():
        print("skipped: full: no right to mount", flush=True)
        strikes.remove("full")
    kinds = ([(Struck, what) for what in strikes] + [(Damaged, what) for what in DAMAGES * 2] +
             [(Beside, what) for what in ("removed beside", "cut beside")])
    if args.fail_at:
        kinds += calls.KINDS
    else:
        print("skipped: calls that fail: no library that makes them", flush=True)
    random_.shuffle(kinds)
    return [kinds[i % len(kinds)][0](args, first + i, random_, kinds[i % len(kinds)][1]) for i in range(count)]
