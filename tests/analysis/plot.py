"""shardlab-analyze plot of records that differ in several things, predictions alone and beside a measurement.

    plot.py SHARDLAB ANALYZE ROOT
"""
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

shardlab, analyze, root = (pathlib.Path(word).resolve() for word in sys.argv[1:])
tiny = ["--model", "gpt2-tiny", "--seq", "16", "--config", root / "examples/ds_zero2.json", "--quiet", "--json"]


def run(*words, expected=0, path=os.environ["PATH"]):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, env=os.environ | {"PATH": path})
    assert done.returncode == expected, f"{words}: {done.returncode}: {done.stderr}"
    return done


def rows(folder):
    with open(folder / "runs.csv", newline="") as file:
        return list(csv.DictReader(file))


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    records = []
    for world in (2, 4):
        for more in (["--zero-stage", "1"], ["--zero-stage", "3"], ["--zero-stage", "3", "--dtype", "bf16"]):
            records.append(folder / f"{len(records)}.json")
            run(shardlab, "predict", *tiny, records[-1], "--world", world, *more)
    if shutil.which("gnuplot"):
        said = run(analyze, "plot", folder, *records)
        assert "rror" not in said.stderr, said.stderr
        for picture in ("memory", "step_time"):
            assert (folder / f"{picture}.svg").stat().st_size > 5000 and (folder / f"{picture}.png").exists(), picture
        assert not (folder / "losses.svg").exists()  # predictions have none
        text = (folder / "memory.svg").read_text()
        for row in rows(folder):
            assert row["label"] in text, row["label"]
        assert "predicted" in text and not any("measured" in (folder / f"{p}.svg").read_text() for p in ("memory", "step_time"))
    else:
        run(analyze, "table", folder, *records)
    # what gnuplot says, and the libraries that it loads, stands in our one line where it failed, and nowhere where it did not
    (folder / "bin").mkdir()
    for status, says in ((0, ""), (3, "shardlab-analyze: error: gnuplot failed on {}/memory.gp: line 3: no \\u001b[31msuch thing\n")):
        (folder / "bin/gnuplot").write_text(f"#!/bin/sh\nprintf 'ignoring \\033\\nline 3: no \\033[31msuch thing\\n\\n' >&2\nexit {status}\n")
        (folder / "bin/gnuplot").chmod(0o755)
        done = run(analyze, "plot", folder, *records, expected=status and 1, path=f"{folder}/bin:{os.environ['PATH']}")
        said = "".join(line for line in done.stderr.splitlines(keepends=True) if "gnuplot" in line or "such" in line or "ignoring" in line)
        assert said == says.format(folder) and "\x1b" not in done.stderr, done.stderr
    labels = [row["label"] for row in rows(folder)]
    assert labels == [f"world {w} ZeRO-{z} bf16 {b}" for w in (2, 4) for z, b in ((1, "false"), (3, "false"), (3, "true"))], labels
    assert [row["row"] for row in rows(folder)] == [str(i) for i in range(6)]
    # bytes are exact, however many
    run(shardlab, "predict", "--model", "llama3-8b", "--preset", "deepspeed-3", "--cluster", "dgx-a100-80g", "--world", "8", "--quiet", "--json", folder / "large.json")
    run(analyze, "table", folder, folder / "large.json")
    (row,) = rows(folder)
    assert all(cell.isdigit() for key, cell in row.items() if key.endswith("_bytes") and cell) and int(row["predicted_arena_bytes"]) > 10**10, row
    # one plan on two clusters is two rows; a prediction and a measurement of one request are one
    run(shardlab, "predict", *tiny, folder / "a.json")
    run(shardlab, "predict", *tiny, folder / "b.json", "--cluster", "dgx-h100")
    run(shardlab, "measure", *tiny, folder / "c.json", "--steps", "2", "--data", root / "examples/corpus.txt")
    run(analyze, "table", folder, folder / "a.json", folder / "b.json", folder / "c.json")
    table = rows(folder)
    assert [row["label"] for row in table] == ["localhost", "dgx-h100"], table
    assert table[0]["measured_step_time_s"] and not table[1]["measured_step_time_s"]
    run(analyze, "table", folder, folder / "a.json", folder / "a.json", expected=2)
    # a measurement alone has no number of a prediction to draw: gnuplot must not be given labels without any place
    if shutil.which("gnuplot"):
        (folder / "alone").mkdir()
        run(analyze, "plot", folder / "alone", folder / "c.json")
        assert (folder / "alone/memory.png").exists() and (folder / "alone/losses.svg").exists()
        text = (folder / "alone/step_time.svg").read_text()
        assert "measured" in text and "predicted" not in text
        run(analyze, "plot", folder / "alone", folder / "a.json", folder / "c.json")
        text = (folder / "alone/step_time.svg").read_text()
        assert "predicted (90 % interval) and measured" in text and float(rows(folder / "alone")[0]["predicted_step_time_low_s"]) > 0
    # two curves of one stage and world have names of their own: their rows in runs.csv
    run(shardlab, "measure", *tiny, folder / "e.json", "--steps", "2", "--data", root / "examples/corpus.txt", "--micro-batch", "1")
    run(shardlab, "measure", *tiny, folder / "f.json", "--steps", "2", "--data", root / "examples/corpus.txt", "--world", "2")
    (folder / "curves").mkdir()
    run(analyze, "table", folder / "curves", folder / "b.json", *(folder / f"{name}.json" for name in "cef"))
    with open(folder / "curves/losses.csv", newline="") as file:
        head, *lines = csv.reader(file)
    assert head == ["step", "loss_zero0_world1_row1_nats", "loss_zero0_world1_row2_nats", "loss_zero2_world2_nats"], head
    for column, name in enumerate("cef", 1):
        assert [float(line[column]) for line in lines] == [float(f"{loss:.9g}") for loss in json.loads((folder / f"{name}.json").read_text())["losses"]], lines
    if shutil.which("gnuplot"):
        run(analyze, "plot", folder / "curves")
        text = (folder / "curves/losses.svg").read_text()
        assert all(name in text for name in (">ZeRO-0, world 1, row 1<", ">ZeRO-0, world 1, row 2<", ">ZeRO-2, world 2<")), text
    # models are told apart by their names, and the longest name of a row has room to lean over the edge
    run(shardlab, "predict", "--model", "gpt2-mini", "--seq", "16", "--config", root / "examples/ds_zero2.json", "--json", folder / "d.json")
    run(analyze, "table", folder, folder / "a.json", folder / "d.json")
    assert [row["label"] for row in rows(folder)] == ["gpt2-tiny", "gpt2-mini"], rows(folder)
    refused = run(analyze, "plot", folder / "nowhere", folder / "c.json", expected=2).stderr
    assert "nowhere: is no folder; expected one that exists" in refused, refused
