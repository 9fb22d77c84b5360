"""Tables of experiments that only predict say what is predicted today: experiments.py SHARDLAB ROOT [--plant]

Of the scaling tables each job is predicted with the choice that its row shows, not with all that the experiment tries. --plant: shows that a
changed figure is noticed.
"""
import csv
import pathlib
import subprocess
import sys
import tempfile

SCALING = ("scaling_weak", "scaling_strong")


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table(page, first):
    """Rows, as {column: cell}, of the table whose first column is `first`."""
    lines = page.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("|") and cells(line)[0] == first)
    names, rows = cells(lines[at]), []
    for line in lines[at + 2:]:
        if not line.startswith("|"):
            break
        rows.append(dict(zip(names, cells(line))))
    return rows


def chosen(scaling, job, row):
    """The choice of a job that its row shows."""
    found = [c for c in scaling.choices(job) if (str(c["micro_batch"]), str(c["virtual_stages"])) == (row["micro batch"], row["virtual stages"])]
    assert len(found) == 1, (job["name"], row)
    return found[0]


def told(scaling, job, predicted):
    """What a row says of its choice."""
    step = float(predicted["predicted_step_time_s"])
    tflops = scaling.model_flops(job) / step / int(job["n_gpus"]) / 1e12
    error = f"{100 * (float(job['tflops']) / tflops - 1):+.1f}" if job["tflops"] != "" else ""
    return {"memory GB": f"{float(predicted['predicted_mem_gb']):.1f}", "step time s": f"{step:.3f}", "predicted TFLOPS": f"{tflops:.0f}",
            "error percent": error, "fits": predicted["predicted_fits"]}


def predicted(shardlab, scaling, jobs, rows):
    """What is predicted of each job with the choice that its row shows."""
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/jobs.csv", "w", newline="") as file:
            out = csv.DictWriter(file, scaling.COLUMNS, lineterminator="\n")
            out.writeheader()
            out.writerows(chosen(scaling, job, rows[job["name"]]) for job in jobs)
        subprocess.run([shardlab, "predict", "--table", f"{folder}/jobs.csv", "--out", f"{folder}/out.csv", "--quiet"], check=True)
        return list(csv.DictReader(open(f"{folder}/out.csv")))


def faults(scaling, jobs, rows, of_jobs):
    for job, p in zip(jobs, of_jobs):
        for column, value in told(scaling, job, p).items():
            if rows[job["name"]][column] != value:
                yield f"{job['name']}: {column} is {rows[job['name']][column]}; predicted is {value}"


def main():
    shardlab, root = sys.argv[1], pathlib.Path(sys.argv[2])
    sys.path.insert(0, str(root / "experiments/published/scaling"))
    sys.dont_write_bytecode = True
    import scaling
    found = []
    for name in SCALING:
        rows = {row["job"]: row for row in table((root / "experiments" / name / "README.md").read_text(), "job")}
        jobs = list(scaling.NAMES[name]())
        assert sorted(rows) == sorted(job["name"] for job in jobs), f"{name}: its jobs are others"
        of_jobs = predicted(shardlab, scaling, jobs, rows)
        found += faults(scaling, jobs, rows, of_jobs)
        if "--plant" in sys.argv:
            row = next(iter(rows.values()))
            row["step time s"] = "1" + row["step time s"]
            assert any("step time s is 1" in fault for fault in faults(scaling, jobs, rows, of_jobs)), "a planted figure is not noticed"
    print("\n".join(found))
    return 1 if found else 0


sys.exit(main())
