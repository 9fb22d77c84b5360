"""Pictures of experiments: one style, drawn from their tables alone, by a gnuplot that nobody planted.

    pictures.py ROOT

The published fit's are drawn from the committed tables; the bubble's from one that is made up here, of which every panel must have its
curves.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(sys.argv[1]).resolve()
scripts = sorted(root.glob("experiments/**/*.gp"))
assert len(scripts) >= 9, scripts
for script in scripts:
    lines = [line for line in script.read_text().splitlines() if not line.startswith("#")]
    assert lines[0] == "load ARG1", f"{script}: does not begin with the style"
    own = [line for line in lines if re.search(r"set (terminal|output|border|encoding)\b|rgb '#(?!e4e4e4)|set title [\"'][A-Z]?[^\"']{95}", line)]
    assert not own, f"{script}: has a style of its own: {own}"
if shutil.which("gnuplot") is None:
    print("gnuplot: is not installed")
    raise SystemExit(77)


def draw(script, folder, *names, path=os.environ["PATH"]):
    done = subprocess.run([root / "experiments/draw.sh", root / "experiments" / script, folder, *names], capture_output=True, text=True,
                          env=os.environ | {"PATH": path}, cwd=folder)
    assert done.returncode == 0 and done.stderr == "", f"{script}: {done.returncode}: {done.stderr}"


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for table in ("predictions.csv", "errors.csv"):
        shutil.copy(root / "experiments/published/training/results" / table, folder)
    (folder / "elsewhere").write_text("stays")
    (folder / "scatter.png").symlink_to(folder / "elsewhere")
    (folder / "gnuplot").write_text("#!/bin/sh\ntouch was_run\n")
    (folder / "gnuplot").chmod(0o755)
    draw("published/training/fit.gp", folder, "scatter", "errors", path=f".:{folder}:{os.environ['PATH']}")
    assert not (folder / "was_run").exists(), "the gnuplot of the folder was run"
    assert (folder / "elsewhere").read_text() == "stays" and not (folder / "scatter.png").is_symlink(), "a link was written through"
    text = (folder / "scatter.svg").read_text()
    assert "nanotron" in text and "measured (s)" in text and all((folder / f"{n}.png").stat().st_size > 5000 for n in ("scatter", "errors"))

    rows = ["machine,schedule,virtual_stages,ranks,micro_batches,closed_form_percent,predicted_percent,measured_percent"]
    for machine, few in (("gpu", 6), ("cpu", 4)):
        for schedule in ("1f1b", "interleaved 2", f"interleaved {few}", "zb-h1", "zbv"):
            for ranks in (2, 4, 8, 16) if machine == "gpu" else (2,):
                for rounds in (1, 2, 4, 8):
                    rows.append(f"{machine},{schedule},1,{ranks},{ranks * rounds},{60 / rounds},{50 / rounds},{55 / rounds}")
    (folder / "bubble.csv").write_text("\n".join(rows) + "\n")
    draw("pipeline_bubble/bubble.gp", folder)
    # a curve is a path with a line to another point; the blue one is that of one schedule. A legend's is a straight piece
    paths = re.findall(r"<path stroke='rgb\(\s*0, 114, 178\)'\s+d='(M[^']*)'", (folder / "bubble.svg").read_text())
    curves = [p for p in paths if p.count("L") >= 2]
    assert len(curves) == 3, f"{len(curves)} curves in three panels: {paths}"
