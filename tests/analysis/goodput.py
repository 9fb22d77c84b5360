"""goodput.py SHARDLAB ANALYZE ROOT: the goodput of a predicted and of a measured training, from their records to table, CSV, JSON and
picture, and what is refused."""
import csv
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


def main():
    shardlab, analyze, root = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        record, bare, out = folder / "record.json", folder / "bare.json", folder / "out"
        out.mkdir()
        job = ["--model", "gpt2-xl", "--config", f"{root}/examples/ds_zero2.json", "--cluster", "dgx-h200", "--world", "32", "--quiet"]
        assert run(shardlab, "predict", *job, "--json", bare).returncode == 0
        assert run(shardlab, "predict", *job, "--save-every", "9", "--json", record).returncode == 0
        goodput = [analyze, "goodput", record]
        done = run(*goodput, "--mtbf-hours", "5", "--interval", "77", "--out", out, "--json", out / "goodput.json")
        assert done.returncode == 0 and "best interval: " in done.stdout, done.stderr
        said = json.loads((out / "goodput.json").read_text())
        predicted = json.loads(record.read_text())
        assert said["mtbf_s"] == 5 * 3600 and said["save_s"] == predicted["checkpoint"]["wait_s"] and said["step_s"] == predicted["step_time_s"]
        assert said["restart_s"] >= 60 and 77 in [row["steps"] for row in said["intervals"]]
        best = max(said["intervals"], key=lambda row: row["daly"])
        assert best["steps"] == said["best_steps"] and abs(best["interval_s"] - said["best_s"]) <= said["step_s"]
        rows = list(csv.DictReader((out / "goodput.csv").open()))
        assert [int(row["interval_steps"]) for row in rows] == [row["steps"] for row in said["intervals"]]
        assert all(abs(float(row["daly"]) - one["daly"]) < 1e-8 for row, one in zip(rows, said["intervals"]))
        if shutil.which("gnuplot"):
            assert (out / "goodput.svg").stat().st_size > 5000 and (out / "goodput.png").stat().st_size > 2000
        again = run(*goodput, "--mtbf-hours", "5", "--interval", "77", "--json", "-")
        assert json.loads(again.stdout) == said  # the same seed
        other = run(*goodput, "--mtbf-hours", "5", "--interval", "77", "--json", "-", "--seed", "2")
        assert json.loads(other.stdout) != said
        nodes = json.loads(run(*goodput, "--node-mtbf-hours", "8", "--restart-s", "5", "--write-s", "0", "--json", "-").stdout)
        assert nodes["mtbf_s"] == 2 * 3600 and nodes["restart_s"] == 5  # 4 nodes
        for row in nodes["intervals"]:
            assert abs(row["drawn"] - row["daly"]) < 5 * row["drawn_error"], row
        # a step of a time that nothing takes makes no number: 0 s of 0 s, or of an interval that is infinite
        for seconds, text in ((5e-324, "4.941e-324"), (0, "0"), (1e308, "1e+308")):
            (folder / f"{text}.json").write_text(json.dumps(predicted | {"step_time_s": seconds}))
        for seconds in (1e-9, 1e9):
            record.write_text(json.dumps(predicted | {"step_time_s": seconds}))
            for more in ([], ["--save-s", "0", "--write-s", "0"], ["--interval", "1000000000"]):
                said = json.loads(run(*goodput, "--mtbf-hours", "3", "--runs", "2", *more, "--json", "-").stdout)
                assert said["best_steps"] >= 1 and all(row and 0 <= row["daly"] <= 1 and 0 <= row["first_order"] <= 1 for row in said["intervals"]), said
        refused = [([*goodput], "--mtbf-hours: expected hours between failures"),
                   ([*goodput, "--mtbf-hours", "1", "--node-mtbf-hours", "1"], "--mtbf-hours: expected hours between failures"),
                   ([*goodput, "--mtbf-hours", "0"], "--mtbf-hours: is '0'; expected a number from 1e-06 to 1000000000"),
                   ([*goodput, "--mtbf-hours", "nan"], "--mtbf-hours: is 'nan'; expected a number from"),
                   ([*goodput, "--mtbf-hours", "3", "--seed", "1.5"], "--seed: is '1.5'; expected an integer"),
                   ([*goodput, "--mtbf-hours", "3", "--runs", "2.5"], "--runs: is '2.5'; expected an integer"),
                   ([*goodput, "--mtbf-hours", "3", "--runs", "1"], "--runs: is '1'; expected a number from 2 to 1000000"),
                   ([*goodput, "--mtbf-hours"], "--mtbf-hours: expected a value behind it"),
                   ([*goodput, "--mtbf", "3"], "--mtbf: is no option of goodput"),
                   ([*goodput, record, "--mtbf-hours", "3"], "is a second record"),
                   ([analyze, "goodput"], "goodput: words behind it: 0; expected 'goodput RECORD.json --mtbf-hours H'"),
                   ([analyze, "table", out], "table: words behind it: 1; expected 'table FOLDER RECORD.json...'"),
                   ([analyze, "--version", "x"], "--version: words behind it: 1; expected nothing behind it"),
                   ([analyze, "--help", "x"], "--help: words behind it: 1; expected nothing behind it"),
                   ([analyze, "plot", folder], "runs.csv: No such file or directory; expected the runs.csv of 'table', or records to make it of"),
                   ([analyze, "frob\33"], "'frob\\u001b' is no command; expected table, plot, watch, goodput, fit or refit"),
                   ([analyze], "no command is given; expected table"),
                   ([analyze, "goodput", "--mtbf-hours", "3"], "goodput: expected a record"),
                   ([analyze, "goodput", bare, "--mtbf-hours", "3"], "checkpoint: is missing; expected a record of predict --save-every"),
                   ([analyze, "goodput", f"{root}/tests/bad_inputs/ok.json", "--mtbf-hours", "3"], "step_time_s: is no time of a step"),
                   *(([analyze, "goodput", folder / f"{text}.json", "--mtbf-hours", "3"], f"step_time_s: is {text}; expected 1e-09 s to 1e+09 s")
                     for text in ("4.941e-324", "0", "1e+308")),
                   ([*goodput, "--mtbf-hours", "3", "--out", folder / "nowhere"], "nowhere: is no folder")]
        for words, message in refused:
            done = run(*words)
            lines = done.stderr.splitlines()
            assert done.returncode == 2 and len(lines) == 1 and lines[0].startswith("shardlab-analyze: error: ") and message in lines[0], (words, done)


if __name__ == "__main__":
    main()
