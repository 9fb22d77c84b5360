"""One stage of ./dev gpu: a process tree of its own, with a folder, a log and a time limit; whatever becomes of it, nothing of it
runs on, and its folder has become small."""
import dataclasses
import os
import pathlib
import shutil
import signal
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
MARK = "GPU_PART_IN"  # an environment variable: by it the processes of a part's stages are known, whoever adopted them
SKIPPED = 77
GRACE_S = 3
LOG_BYTES, FILE_BYTES = 256 << 10, 8 << 20
TEXT = {".json", ".txt", ".tsv", ".csv", ".md", ".log"}


@dataclasses.dataclass
class Outcome:
    verdict: str  # passed, FAILED, late, skipped; before that waiting, running
    seconds: int = 0
    last: str = ""


class Ended(Exception):
    """This program has been told to end."""


def processes(part):
    mark = f"{MARK}={part}".encode()
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in path.read_bytes().split(b"\0"):
                yield int(path.parent.name)
        except OSError:  # gone, or not ours
            continue


def send(part, number):
    """To all processes of the stages in the folder `part`; were there any?"""
    found = list(processes(part))
    for pid in found:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
    return bool(found)


def end_all(part):
    """Also those that an earlier call left when it was killed itself."""
    for _ in range(50):
        if not send(part, signal.SIGKILL):
            return
        time.sleep(0.1)


def shorten(log):
    """The beginning and the end: a stage that talks without end is not to fill the disk, nor the archive."""
    size = log.stat().st_size
    if size <= 2 * LOG_BYTES:
        return
    with open(log, "r+b") as f:
        f.seek(size - LOG_BYTES)
        tail = f.read()
        f.seek(LOG_BYTES)
        f.write(f"\n... {size - 2 * LOG_BYTES} bytes left out ...\n".encode())
        f.write(tail)
        f.truncate()


def forget(path, folders):
    """Records bear their command line, and logs name files; where these folders stood is no part of it."""
    old = new = path.read_bytes()
    for folder in folders:
        new = new.replace(f"{folder}/".encode(), b"")
    if new != old:
        path.write_bytes(new)


def tidy(folder, folders):
    """Large files would fill the disk, and the archive; what other stages need is small, or stands elsewhere."""
    for path in [p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()]:
        if path.suffix == ".log" or path.name == "log.txt":
            shorten(path)
        if path.stat().st_size > FILE_BYTES or path.suffix == ".safetensors":
            path.unlink()
        elif path.suffix in TEXT:
            forget(path, folders)


def last_line(log):
    with open(log, "rb") as f:
        f.seek(max(0, log.stat().st_size - 16384))
        lines = [line.strip() for line in f.read().decode(errors="replace").splitlines() if line.strip()]
    return lines[-1].replace("\t", " ").replace("\r", " ")[:160] if lines else ""


def judged(process, limit, start, part):
    """Wait, and say how it ended."""
    try:
        code = process.wait(timeout=max(0.0, start + limit - time.monotonic()))
    except subprocess.TimeoutExpired:
        send(part, signal.SIGTERM)  # one that stands still may say where
        try:
            process.wait(timeout=GRACE_S)
        except subprocess.TimeoutExpired:
            pass
        return "late", f"ended after {limit:.0f} s: "
    if code < 0 or code > 128:
        return "FAILED", f"ended by signal {-code if code < 0 else code - 128}: "
    return {0: "passed", SKIPPED: "skipped"}.get(code, "FAILED"), ""


def started(folder, call, limit, environment):
    variables = os.environ | environment | {MARK: str(folder.parent), "out": str(folder), "limit": str(int(limit)),
                                            "all": str(folder.parent)}
    # shorter than the stage: ranks that stand still are to say where
    variables.setdefault("SHARDLAB_TIMEOUT_S", str(min(30, int(limit * 2 / 3))))
    with open(folder / "log.txt", "wb") as f:
        return subprocess.Popen(["bash", HERE / "stages.sh", *call], stdin=subprocess.DEVNULL, stdout=f,
                                stderr=subprocess.STDOUT, env=variables)


def run(folder, call, limit, environment):
    """`call`, a function of stages.sh with its arguments, within `limit` seconds, in a new folder."""
    start = time.monotonic()
    end_all(folder.parent)
    shutil.rmtree(folder, ignore_errors=True)
    verdict, note = "FAILED", ""
    try:
        folder.mkdir(parents=True)
        process = started(folder, call, limit, environment)
        try:
            verdict, note = judged(process, limit, start, folder.parent)
        finally:
            end_all(folder.parent)
            process.kill()
            process.wait()
        note += last_line(folder / "log.txt")
        if shutil.disk_usage(folder).free < LOG_BYTES:  # then the log could not say so
            note = f"No space left on device. {note}"
        tidy(folder, (folder, folder.parent, environment["root"]))
    except OSError as e:
        verdict, note = "FAILED", f"{note} {e.strerror or e}".strip()
    return Outcome(verdict, round(time.monotonic() - start), note)
