"""A case: input files, and commands that are run beside them; all that they print and write is what is compared."""
import os
import shutil
import subprocess

TIMEOUT_S = 300


class Case:
    """`files`: input name to bytes. `commands`: name to arguments; NAME.status, NAME.out and NAME.err are its outputs, beside the
    files that it writes. `judge`: the command whose status says whether the case was refused."""

    def __init__(self, label, files, commands, judge, facts=None, spoilt=None):
        self.label, self.files, self.commands, self.judge = label, files, commands, judge
        self.facts, self.spoilt = facts or {}, spoilt


def environment():
    """That of the caller, without what changes how a rank computes or a program prints."""
    drop = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    kept = {name: value for name, value in os.environ.items() if name not in drop and not name.startswith("SHARDLAB_")}
    return {**kept, "LC_ALL": "C", "NO_COLOR": "1", "OMP_WAIT_POLICY": "passive"}


def run_one(binary, folder, name, arguments):
    with open(folder / f"{name}.out", "wb") as out, open(folder / f"{name}.err", "wb") as err:
        try:
            status = str(subprocess.run([binary, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                        env=environment(), timeout=TIMEOUT_S).returncode)
        except subprocess.TimeoutExpired:
            status = f"none after {TIMEOUT_S} s"
    (folder / f"{name}.status").write_text(status + "\n")


def run(case, binary, folder):
    """All commands of a case in a fresh folder; its outputs by name."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in case.files.items():
        (folder / name).write_bytes(content)
    for name, arguments in case.commands.items():
        run_one(binary, folder, name, arguments)
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in case.files}


def broken(case, outputs):
    """A command that neither came to an end nor refused; then there is nothing to compare."""
    for name in case.commands:
        status = outputs[f"{name}.status"].decode().strip()
        if status not in ("0", "1", "2"):
            return f"{name}: status {status}"
    return None


def status(case, outputs):
    return int(outputs[f"{case.judge}.status"])
