#!/usr/bin/env python3
"""Do two builds of shardlab behave the same? For a change that is to move no behaviour: same_as.py OLD NEW.

Draws configurations, runs `predict`, `check` and `show` of both programs on each, and compares all that they print and write byte
for byte: records, traces, arenas, traffic, programs, messages, exit statuses. --goldens trains small models with both and
compares losses, gradients and weights bit for bit; --time lays the time of two predictions side by side. OLD and NEW are paths of
a `shardlab` beside whose bin/ stands its lib/. The exit status is 1 if anything differs that no --except names.

The parts: same/draw.py (what is drawn), same/predictions.py and same/goldens.py (what is run), same/compare.py (what may differ).
"""
import argparse
import shlex
import shutil
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from same import case as cases
from same import compare, goldens, predictions, refusals, timing
from same.coverage import Coverage
from same.draw import Draw

ACCEPTED = 0.85  # of a draw; with fewer, too little is compared
SHOWN = 90       # characters of a value that differs


def excerpts(old, new):
    """Both values, cut down to the place where they part."""
    old, new = str(old), str(new)
    at = next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
    start = max(0, at - SHOWN // 2) if max(len(old), len(new)) > SHOWN else 0
    return [("..." if start else "") + text[start:start + SHOWN] + ("..." if text[start + SHOWN:] else "") for text in (old, new)]


class Report:
    """Verdicts as they come: one line for each case that differs, with what repeats it."""

    def __init__(self, options, root):
        self.options, self.root = options, root
        self.exceptions = compare.Exceptions(options.exceptions)
        self.counts, self.needed, self.faults, self.coverage = Counter(), set(), [], Coverage()

    def fault(self, text):
        self.faults.append(text)
        print(f"FAULT   {text}", flush=True)

    @staticmethod
    def difference(label, key, old, new):
        a, b = excerpts(old, new)
        return f"{label}: {key}: {a} -> {b}"

    def differs(self, case, folder, found):
        """Its files stay; what to type stands below."""
        key, old, new = found[0]
        print(f"DIFFERS {self.difference(case.label, key, old, new)}" + (f" (and {len(found) - 1} more)" if found[1:] else ""))
        name = next((n for n in case.commands if key.startswith(n + ".")), None) or self.writer(case, key)
        for side, binary in (("old", self.options.old), ("new", self.options.new)):
            print(f"        (cd {folder / side} && {shlex.join([binary, *case.commands[name]])})", flush=True)

    @staticmethod
    def writer(case, key):
        """The command that wrote the file which the key begins with."""
        file = key.partition(":")[0]
        return next((name for name, arguments in case.commands.items() if file in arguments), case.judge)

    def judge(self, case, folder, old, again, new):
        """One of: same, differs, excepted, refused."""
        broken = cases.broken(case, old)
        if broken:
            self.fault(f"{case.label}: OLD did not come to an end: {broken}")
            return "differs"
        found = compare.compare_runs(old, again, new, self.needed)
        rows = [self.exceptions.find(case.label, key, old, new) for key, old, new in found]
        if None in rows:
            self.differs(case, folder, [each for row, each in zip(rows, found) if row is None])
            return "differs"
        if found:
            print(f"NAMED   {self.difference(case.label, *found[0])}: {rows[0][1]}", flush=True)
            return "excepted"
        return "refused" if cases.status(case, old) != 0 else "same"

    def take(self, case, folder, runs):
        try:
            verdict = self.judge(case, folder, *runs)
        except compare.Unstable as error:
            self.fault(f"{case.label}: {error}")
            verdict = "differs"
        self.counts[verdict] += 1
        if verdict != "differs":
            shutil.rmtree(folder)
        return verdict

    def closing(self):
        named = f", {self.counts['excepted']} differ as named" if self.exceptions.rows else ""
        print(f"{self.counts['same']} same, {self.counts['differs']} differ{named}, {self.counts['refused']} refused alike")


def run_all(report, todo, jobs):
    """Runs cases, some at a time, and yields each with its folder, its three runs' outputs and the verdict, in their order."""
    options = report.options

    def run(numbered):
        number, case = numbered
        folder = report.root / f"{number:04d}"
        return case, folder, [cases.run(case, binary, folder / side) for side, binary in
                              (("old", options.old), ("again", options.old), ("new", options.new))]
    with ThreadPoolExecutor(jobs) as pool:
        for case, folder, runs in pool.map(run, todo):
            yield case, runs[0], report.take(case, folder, runs)


def compare_predictions(report):
    options, draw, accepted, drawn = report.options, Draw(report.options.seed), 0, 0
    todo = [(i, predictions.case(draw.configuration())) for i in range(options.count)]
    if options.only is not None:
        todo = [todo[options.only]]
    for case, outputs, _ in run_all(report, todo, options.jobs):
        legal, drawn = cases.status(case, outputs) == 0, drawn + 1
        accepted += legal
        if legal:
            report.coverage.add(predictions.facts(case, outputs))
        if case.spoilt:
            report.coverage.add({"spoilt": case.spoilt})
        if legal == bool(case.spoilt):
            why = "accepted" if legal else "refused: " + outputs["predict.err"].decode().strip()[:300]
            report.fault(f"the draw: {case.label}: {why}")
    if accepted < ACCEPTED * drawn and options.only is None:
        report.fault(f"the draw: {accepted} of {drawn} configurations were accepted, expected {ACCEPTED:.0%}")


def compare_refusals(report):
    for case, outputs, _ in run_all(report, enumerate([refusals.bad_inputs(), refusals.frameworks()], 4000), report.options.jobs):
        for name in refusals.accepted(case, outputs):
            report.fault(f"{case.label}: {shlex.join(case.commands[name])}: accepted")


def compare_goldens(report):
    for case, outputs, verdict in run_all(report, enumerate(goldens.cases(), 5000), report.options.jobs):
        if verdict == "refused":
            report.fault(f"{case.label}: does not train: {outputs['measure.err'].decode().strip()[:300]}")
    for row in compare.MASK:
        if row not in report.needed:
            report.fault(f"mask: two runs of OLD never differed in {row[0]}: {row[1]} ({row[2]})")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", help="a shardlab program, the reference")
    parser.add_argument("new", help="the one that is to behave like it")
    parser.add_argument("--count", type=int, default=200, help="configurations to draw [200]; 0: none")
    parser.add_argument("--seed", type=int, default=1, help="of the draw [1]")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="only configuration #NUMBER of the draw")
    parser.add_argument("--coverage", action="store_true", help="list how often each value occurred")
    parser.add_argument("--goldens", action="store_true", help="train the golden models, too")
    parser.add_argument("--time", action="store_true", help="time two predictions, too")
    parser.add_argument("--except", dest="exceptions", type=Path, metavar="FILE",
                        help="differences that are meant, a line each: OUTPUT:KEY or #LABEL with wildcards, and the reason")
    parser.add_argument("--jobs", type=int, default=2, help="cases at a time [2]")
    options = parser.parse_args()
    if options.only is not None:
        options.count = options.only + 1
    options.old, options.new = (str(Path(path).resolve(strict=True)) for path in (options.old, options.new))
    return options


def main():
    options = parse()
    root = Path(tempfile.mkdtemp(prefix="same_as-"))
    report = Report(options, root)
    compare_predictions(report)
    if options.count > 0 and options.only is None:
        compare_refusals(report)
    if options.goldens:
        compare_goldens(report)
    slower = options.time and timing.report(options.old, options.new)
    if options.only is None:
        for rare in report.coverage.rare(options.count):
            report.fault(f"the draw: too rare: {rare}")
        for pattern, reason in report.exceptions.unseen():
            report.fault(f"{options.exceptions}: nothing differs as named: {pattern} ({reason})")
    if options.coverage:
        report.coverage.show()
    if not any(root.iterdir()):
        root.rmdir()
    report.closing()
    return 1 if report.counts["differs"] or report.faults or slower else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, ValueError) as error:
        sys.exit(f"same_as: {error}")
