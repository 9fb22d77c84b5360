"""hang.py SHARDLAB ROOT: a rank that is stopped in the middle of a job. The line that ends the job names the op that hangs, the rank that is
waited for, and what each rank finished last."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile


def ranks_of(launcher):
    """{rank: id} of the job's ranks, by what their launcher told them."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            variables = dict(pair.split("=", 1) for pair in (path / "environ").read_bytes().decode().split("\0") if "=" in pair)
            if (path / "comm").read_text() == "shardlab\n" and variables.get("SHARDLAB_JOB_OF_TEST") == launcher and "OMPI_COMM_WORLD_RANK" in variables:
                found[int(variables["OMPI_COMM_WORLD_RANK"])] = int(path.name)
        except (OSError, UnicodeDecodeError):
            continue
    return found


def main():
    shardlab, root = sys.argv[1:]
    words = [shardlab, "measure", "--model", "gpt2-tiny", "--config", "config.json", "--data", f"{root}/examples/corpus.txt", "--seq", "32",
             "--world", "3", "--steps", "1000000"]
    name = f"hang-{os.getpid()}"
    folder = tempfile.TemporaryDirectory()
    config = {"train_micro_batch_size_per_gpu": 2, "optimizer": {"type": "AdamW"}, "zero_optimization": {"stage": 2}, "steps_per_print": 5}
    pathlib.Path(folder.name, "config.json").write_text(json.dumps(config))
    job = subprocess.Popen(words, cwd=folder.name, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           env={**os.environ, "SHARDLAB_TIMEOUT_S": "3", "SHARDLAB_JOB_OF_TEST": name})
    assert job.stdout.readline().startswith("step 5 of ")
    stopped = ranks_of(name)[1]
    os.kill(stopped, signal.SIGSTOP)
    said = job.communicate(timeout=60)[1].strip()
    print(said)
    assert job.returncode == 1 and len(said.splitlines()) == 1, (job.returncode, said)
    assert re.match(r"shardlab: (error: )?rank [02]: no progress for 3 s: #\d+ \w+( of group \w+ \(member \d of 3\))? on lane \w+ in action \w+ waits for ", said), said
    # the third rank may be waited for, too, where it is itself behind what it waits for of rank 1; it is not silent
    assert re.search(r"; it waits for (rank [02], )?rank 1 \(silent for [2-9]\.\d s\)(, rank [02])?; last", said), said
    finished = re.search(r"; last finished: (.*) \(SHARDLAB_TIMEOUT_S sets the limit\)$", said)[1].split(", ")
    pattern = r"rank {} (step \d+ (#\d+ \w+ on lane \w+ in action \w+|no op)|#\d+ \w+ on lane \w+ in action \w+|nothing)$"
    assert len(finished) == 3 and all(re.match(pattern.format(r), one) for r, one in enumerate(finished)), finished
    assert not ranks_of(name)


if __name__ == "__main__":
    main()
