"""What every event of the fault suite shares: a real job in a folder of its own, and what must hold after its end."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

LIMIT_S, STOPPED_S = 10, 3  # a job ends within the first; a rank that stops is given up after the second
HELPERS = ("shardlab-clean", "shardlab-guard", "shardlab-hold")  # processes of ours that end with those they watch


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
    """Processes that have `mark` in their environment; one that is over has none."""
    found = []
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()) if among is None else among:
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


def is_helper(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip() in HELPERS
    except OSError:
        return True


def is_mpirun_alone(pid, everything):
    """An mpirun whose ranks have all ended. Open MPI 4.1's may stay for ever then, once in some hundred ranks that are killed in
    MPI_Init: PMIx_server_finalize waits for a lock that nobody holds any more. Such an event is late, and runs again."""
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip() == "mpirun" and all(parent != pid for parent, _ in everything.values())
    except OSError:
        return True


def wait_until(done, seconds):
    deadline = time.monotonic() + seconds
    while not done() and time.monotonic() < deadline:
        time.sleep(0.05)
    return done()


class Event:
    """A job, and something that happens to it. Subclasses say which: `text`, `command`, and where they differ `extra_environment`,
    `happen`, and `expect`."""
    kind, world, steps = "measure", 2, 60

    def __init__(self, args, number):
        self.args, self.number, self.late = args, number, False
        self.given = set()  # names in self.work when the job starts

    def measure(self):
        return [self.args.shardlab, "measure", *self.training(), "--json", "out.json", "--trace", "out.trace", "--save",
                "out.safetensors"]

    def training(self):
        sources = self.args.sources
        return ["--model", "gpt2-tiny", "--config", f"{sources}/examples/ds_zero2.json", "--seq", "32", "--data",
                f"{sources}/examples/corpus.txt", "--world", str(self.world), "--steps", str(self.steps)]

    def extra_environment(self):
        return {}

    def prepare(self):
        """Before the job starts: into self.folder, where its own output goes, and self.work, where it runs."""

    def preexec(self):
        """What the job's process does before it becomes the program."""

    def before_it(self):
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs ignore it
        self.preexec()

    def clean(self):
        """After it, whatever came."""

    def happen(self, job):
        """While it runs; returns whether it happened, and may take as long as it wants."""
        return True

    def limit(self, hit):
        return LIMIT_S if hit else 120

    def run(self):
        self.folder, self.late = tempfile.mkdtemp(prefix="faults-"), False
        self.job = os.urandom(8).hex()  # what an earlier run left is not ours
        self.mark = f"SHARDLAB_JOB={self.job}"
        self.work = self.folder
        self.environment = dict(os.environ, SHARDLAB_JOB=self.job, SHARDLAB_TIMEOUT_S=str(STOPPED_S), OMPI_ALLOW_RUN_AS_ROOT="1",
                                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
        self.environment.update(self.extra_environment())
        try:
            self.prepare()
            self.given = set(os.listdir(self.work))
            return self.watch()
        finally:
            for pid in of_job(self.mark):
                os.kill(pid, signal.SIGKILL)
            self.clean()
            shutil.rmtree(self.folder, ignore_errors=True)

    def watch(self):
        with open(f"{self.folder}/stdout", "w") as out, open(f"{self.folder}/stderr", "w") as err:
            job = subprocess.Popen(self.command(), cwd=self.work, env=self.environment, stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=err, start_new_session=True, preexec_fn=self.before_it)
        hit = self.happen(job)
        struck = time.monotonic()
        limit = self.limit(hit)
        try:
            status = job.wait(timeout=limit + 5)
        except subprocess.TimeoutExpired:
            status = None
        return self.judge(hit, status, time.monotonic() - struck, limit)

    def judge(self, hit, status, took, limit):
        faults = []
        if status is None or took > limit:
            self.late = True
            faults.append(f"still there after {took:.1f} s" if status is None else f"took {took:.1f} s")
        if not wait_until(lambda: not of_job(self.mark), LIMIT_S):
            everything = processes()
            if status is not None or not all(is_mpirun_alone(pid, everything) for pid in of_job(self.mark)):
                faults.append("processes are left: "
                              + "; ".join(everything.get(pid, (0, "?"))[1][:80] for pid in of_job(self.mark)))
        if not wait_until(lambda: not left_of(self.job), LIMIT_S):  # the janitor may still be at it
            faults.append(f"left: {left_of(self.job)}")
        names = sorted(name for name in os.listdir(self.work) if name not in ("stdout", "stderr"))
        return faults + self.files(names) + self.expect(hit, status, names, self.said())

    def files(self, names):
        """Whole, or not there."""
        faults = []
        hidden = [name for name in names if name.startswith(".")]
        if hidden and not self.unswept():
            faults.append(f"hidden files are left: {hidden}")
        empty = [name for name in names if name not in self.given and os.path.isdir(f"{self.work}/{name}") and not os.listdir(f"{self.work}/{name}")]
        if empty and not self.unswept():
            faults.append(f"empty folders are left: {empty}")
        for name in names:
            if name.startswith("out.") and name.endswith((".json", ".trace")):
                try:
                    with open(f"{self.work}/{name}") as file:
                        json.load(file)
                except ValueError:
                    faults.append(f"{name} is not whole")
        return faults

    def unswept(self):
        """Is nobody left who could remove hidden files?"""
        return False

    def said(self):
        """The lines of standard error that are no warnings and no result."""
        with open(f"{self.folder}/stderr", errors="replace") as file:
            lines = [line for line in file.read().splitlines() if line.strip()]
        return [line for line in lines if not line.startswith(("shardlab: warning", "measured:", "  "))]

    def expect(self, hit, status, names, said):
        """Faults in how it ended."""
        return []
