"""Tables of predictions in experiments' pages are what the experiments print today: tables.py ROOT [--plant] EXPERIMENT...

Each experiment's run.sh predicts all that it predicts, and measures nothing. A table that it prints and whose first line its page has
must stand there as it is. --plant: shows that a changed figure is noticed.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

WITHOUT_MEASURING = {"memory_vs_stage": ["--no-measure"], "pipeline_bubble": ["--no-measure"], "scaling_ours": ["--no-measure"]}


def tables(text):
    """The lines of each table."""
    found, lines = [], []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            lines.append(line)
        elif lines:
            found.append(lines)
            lines = []
    return found


def printed(root, experiment):
    with tempfile.TemporaryDirectory() as folder:
        command = [root / "experiments" / experiment / "run.sh", *WITHOUT_MEASURING.get(experiment, []), folder]
        done = subprocess.run(command, env={**os.environ, "MEASURE": "no"}, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{experiment}/run.sh: exit status {done.returncode}: {done.stderr[-300:]}")
        return (pathlib.Path(folder) / "tables.md").read_text()


def faults(experiment, page, text):
    quoted = tables(page)
    held = 0
    for lines in tables(text):
        same_head = [other for other in quoted if other[0] == lines[0]]
        if not same_head:
            continue
        held += 1
        if lines in same_head:
            continue
        nearest = max(same_head, key=lambda other: len(set(other) & set(lines)))
        lacking = [f"{experiment}: the page lacks {line}" for line in lines if line not in nearest]
        yield from lacking or [f"{experiment}: the page has other rows than are printed, or in another order: {lines[0]}"]
    if not held:
        yield f"{experiment}: no table that it prints stands in its page"


def planted(page, text):
    """The page with another digit in the last line of a table that is printed, too; and with that line twice."""
    last = next(lines[-1] for lines in tables(text) if lines in tables(page))
    at = max(last.rfind(digit) for digit in "0123456789")
    return [page.replace(last, last[:at] + str((int(last[at]) + 1) % 10) + last[at + 1:]), page.replace(last, f"{last}\n{last}")]


def main():
    root, *names = [argument for argument in sys.argv[1:] if argument != "--plant"]
    root, found = pathlib.Path(root), []
    for experiment in names:
        page, text = (root / "experiments" / experiment / "README.md").read_text(), printed(root, experiment)
        mine = list(faults(experiment, page, text))
        if not mine and "--plant" in sys.argv and not all(list(faults(experiment, wrong, text)) for wrong in planted(page, text)):
            mine = [f"{experiment}: a planted figure or row is not noticed"]
        found += mine
    print("\n".join(found))
    return 1 if found else 0


sys.exit(main())
