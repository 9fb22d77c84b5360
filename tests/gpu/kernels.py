"""The tests of our kernels, each case in each number type in a process of its own: an illegal address costs one of them.

    kernels.py BIN FOLDER [--under COMMAND] [--limit SECONDS] [--failed-in FOLDER] TEST...

BIN/test_cuda_TEST --list names the cases. FOLDER gets cases.tsv (case, verdict, seconds, last line), kernels.tsv (every tensor of
every case and type: worst error / what is allowed, worst first) and cases/CASE.log of those that did not pass. --failed-in: only
what did not pass there. The last line names what failed; exit status 1 then, 77 where every case was skipped.
"""
import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import shlex
import subprocess
import sys
import time

AT_ONCE = min(8, os.cpu_count() or 1)
CASE_S = 40  # of one case: ten times what it takes with a cold driver
FRAME = ("[ RUN", "[====", "[ PASS", "[ FAIL")  # the test library's own lines
COLUMNS = "case\ttype\ttensor\terror_over_allowed\tplace\tnumber\texpected\tcalls\n"


@dataclasses.dataclass
class Case:
    name: str
    program: pathlib.Path
    verdict: str = "waiting"
    seconds: float = 0.0
    last: str = ""


def cases_of(folder, tests, limit):
    """What the programs list; one that cannot be started is a case that fails."""
    for test in tests:
        program = folder / f"test_cuda_{test}"
        try:
            listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=False, timeout=limit)
            names, why = listed.stdout.split() if listed.returncode == 0 else [], (listed.stdout + listed.stderr).strip()
        except (OSError, subprocess.TimeoutExpired) as e:
            names, why = [], str(e)
        yield from (Case(name, program) for name in names)
        if not names:
            yield Case(test, program, "FAILED", 0.0, f"the program lists no cases: {why[-120:]}")


def telling(text):
    """The first line that says what is wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(FRAME)]
    return lines[0].replace("\t", " ")[:160] if lines else ""


def run(case, under, limit, out):
    report, log = out / "cases" / f"{case.name}.tsv", out / "cases" / f"{case.name}.log"
    start = time.monotonic()
    try:
        with open(log, "wb") as f:
            code = subprocess.run([*under, case.program, "--case", case.name], stdout=f, stderr=subprocess.STDOUT, check=False,
                                  env=os.environ | {"CASES_REPORT": str(report)}, timeout=limit).returncode
        case.verdict = {0: "passed", 77: "skipped"}.get(code, "FAILED")
        case.last = telling(log.read_text(errors="replace"))
        if code < 0:
            case.last = f"ended by signal {-code}: {case.last}"
    except subprocess.TimeoutExpired:
        case.verdict, case.last = "late", f"ended after {limit:g} s"
    except OSError as e:
        case.verdict, case.last = "FAILED", e.strerror
    case.seconds = time.monotonic() - start
    if case.verdict == "passed":
        log.unlink()
    return case


def worst_lines(out):
    """One line for each tensor of each case and type: its worst check, and of how many."""
    worst, calls = {}, {}
    for path in sorted((out / "cases").glob("*.tsv")):
        for line in path.read_text().splitlines():
            fields = line.split("\t")
            if len(fields) != 7:
                continue  # the process ended while it wrote
            key = tuple(fields[:3])
            calls[key] = calls.get(key, 0) + 1
            if key not in worst or float(fields[3]) > float(worst[key][3]):
                worst[key] = fields
        path.unlink()
    order = sorted(worst, key=lambda k: -float(worst[k][3]))
    return ["\t".join([*worst[k], str(calls[k])]) + "\n" for k in order]


def chosen(cases, failed_in):
    if failed_in is None or not (failed_in / "cases.tsv").exists():
        return cases
    earlier = [line.split("\t") for line in (failed_in / "cases.tsv").read_text().splitlines()[1:]]
    passed = {fields[0] for fields in earlier if fields[1] in ("passed", "skipped")}
    return [c for c in cases if c.name not in passed]


def write_cases(cases, out):
    lines = [f"{c.name}\t{c.verdict}\t{c.seconds:.1f}\t{c.last}\n" for c in cases]
    (out / "cases.tsv").write_text("case\tverdict\ts\tlast line\n" + "".join(lines))


def summary(cases, lines):
    bad = [c for c in cases if c.verdict not in ("passed", "skipped")]
    passed = sum(c.verdict == "passed" for c in cases)
    text = f"{passed} of {len(cases)} cases passed"
    if bad:
        return f"{text}; not {', '.join(c.name for c in bad)}: {bad[0].last}"
    if lines:
        case, kind, tensor, ratio = lines[0].split("\t")[:4]
        text += f"; the worst of {len(lines)} tensors errs {ratio} of what is allowed ({case} {kind}, {tensor})"
    return text if passed else f"{text}: {cases[0].last}"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("bin", type=pathlib.Path)
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("tests", nargs="+")
    p.add_argument("--under", default="", type=shlex.split)
    p.add_argument("--limit", type=float, default=CASE_S)
    p.add_argument("--failed-in", type=pathlib.Path)
    args = p.parse_args()
    (args.folder / "cases").mkdir(parents=True, exist_ok=True)
    cases = chosen(list(cases_of(args.bin, args.tests, args.limit)), args.failed_in)
    write_cases(cases, args.folder)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for done in concurrent.futures.as_completed(
                pool.submit(run, c, args.under, args.limit, args.folder) for c in cases if c.verdict == "waiting"):
            print(f"{done.result().name}: {done.result().verdict}", flush=True)
            write_cases(cases, args.folder)
    lines = worst_lines(args.folder)
    (args.folder / "kernels.tsv").write_text(COLUMNS + "".join(lines))
    print(summary(cases, lines))
    verdicts = {c.verdict for c in cases}
    sys.exit(77 if verdicts == {"skipped"} else not verdicts <= {"passed", "skipped"})


if __name__ == "__main__":
    main()
