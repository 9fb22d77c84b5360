"""Hostile numbers on the command line and in its files: each is refused with one clear error, or does what it says.

    hostile.py SHARDLAB ROOT [--all] [--large] [--predict-only] [--sanitized] [--only TEXT]

The cases are made of two tables beside this file: numbers.tsv (a row a number, with the least and the most that is accepted; the
values tried on it are HOSTILE, and those next to its limits) and commands.tsv (whole commands, where several numbers are too
large together); with `--large` they are those of large.tsv alone, each the work of seconds. What is asked of a run:

  refused   exit status 2, one line of error that names the place (and the limit, of a flag or a model's key), nothing on standard output
  accepted  exit status 0, and no number printed that is negative, infinite or none, no mfu above 100 %

and that it ends by itself within CPU_S of processor time (of which other work on the machine takes nothing; a build with sanitizers,
which needs ten times as much, has six times as long), and TIMEOUT_S in all.
A line for each case that goes otherwise; exit status 1 when there is one. `--all`: every value on every row; `--predict-only`:
no command that needs a backend.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CPU_S = 60 if "--sanitized" in sys.argv else 10
TIMEOUT_S = 120
HOSTILE = """-9223372036854775809 -9223372036854775808 -1e300 -4294967295 -1 0 0.5 2147483647 2147483648 4294967295 4294967296
    4294967297 9007199254740993 1e18 4611686018427387904 9223372036854775807 9223372036854775808 1e19 18446744073709551616
    18446744073709551617 1e300 1e309""".split()
FLAG_ONLY = ["nan", "inf", "0x10", "1e3", "1,5", "5x"]  # no numbers of a flag, which takes digits
LEAKS_EVERY = 7  # the search for leaks is most of the time of a sanitized run: one of so many is searched, of every row some
A_ROW = 3  # hostile values of a row, besides its limits, unless all are asked for

CONFIG = {"train_micro_batch_size_per_gpu": 1, "optimizer": {"type": "AdamW", "params": {"lr": 0.001}}}
MODELS = {
    "gpt2": {"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 2, "vocab_size": 128, "n_positions": 64},
    "llama": {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 2,
              "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 128, "max_position_embeddings": 64},
    "mlp": {"model_type": "mlp", "dims": [64, 64, 10]}}
CLUSTER = {"name": "c", "nodes": 0, "devices_per_node": 2, "device": {
    "name": "d", "kind": "cpu", "peak_TFLOPS": {"fp32": 0.1}, "memory_GiB": 16, "memory_bandwidth_GBps": 20, "cores": 2},
    "links": [{"name": "l", "bandwidth_GBps": 5, "latency_us": 1}]}


class Raw:
    """A number in a file exactly as it is written."""

    def __init__(self, text):
        self.text = text


def environment(verb, searched):
    """Open MPI keeps memory to its end and is unloaded before the leak sanitizer looks, which then knows nobody whom it could excuse
    (tests/leaks.txt): where ranks ran, leaks are not asked for. All else that the sanitizers find still counts."""
    if searched and verb != "measure":
        return None
    given = os.environ.get("ASAN_OPTIONS")
    return {**os.environ, "ASAN_OPTIONS": f"{given}:detect_leaks=0" if given else "detect_leaks=0"}


def dump(value):
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {dump(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(dump, value)) + "]"
    return json.dumps(value)


def placed(tree, path, value):
    """A copy of `tree` with `value` at "a.b[1]"."""
    head, _, rest = path.partition(".")
    if item := re.match(r"(\w+)\[(\d+)\]$", head):
        items = list(tree[item[1]])
        items[int(item[2])] = value
        return tree | {item[1]: items}
    return tree | {head: placed(tree.get(head, {}), rest, value) if rest else value}


class Case:
    searched = False  # for leaks, where the program was built to be

    def __init__(self, arguments, status, says=(), files=None):
        self.arguments, self.status, self.says, self.files = arguments, status, says, files or {}

    def run(self, shardlab, root, folder):
        names = {}
        for name, text in self.files.items():
            names[name] = os.path.join(folder, f"{name.lower()}-{id(self)}.json")
            pathlib.Path(names[name]).write_text(text)
        command = ["prlimit", f"--cpu={CPU_S}", shardlab] + [names.get(a, os.path.join(folder, "out.json") if a == "OUT" else a) for a in self.arguments]
        try:
            done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL,
                                  env=environment(self.arguments[0], self.searched))
        except subprocess.TimeoutExpired:
            return f"does not end within {TIMEOUT_S} s"
        if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return f"does not end within {CPU_S} s of processor time"
        return self.judge(done.returncode, done.stdout, done.stderr)

    def judge(self, status, out, err):
        if status != self.status:
            return f"exit status {status}, expected {self.status}: {(err or out)[-200:]!r}"
        if "runtime error" in err or "AddressSanitizer" in err:
            return f"a sanitizer speaks: {err[:400]!r}"
        if status == 0:
            return absurd(out)
        errors = [line for line in err.splitlines() if "error:" in line]
        if len(errors) != 1 or out:
            return f"{len(errors)} lines of error and {len(out)} bytes of output: {err[-200:]!r}"
        missing = [s for s in self.says if s not in errors[0]]
        return f"the error does not say {missing[0]!r}: {errors[0]!r}" if missing else None

    def __str__(self):
        return " ".join(self.arguments) + "".join(f"  {n} {t}" for n, t in self.files.items() if n != "CLUSTER")[:300]


def absurd(out):
    """What no prediction can say; DeepSpeed's default of two keys is -1."""
    out = re.sub('"(mics_shard_size|module_depth)": -1', "", out)
    if number := re.search(r"(?<![\w.\-])-\d[\d.]*|\b(?:nan|inf)\b", out):
        return f"prints {number[0]}: {out[max(0, number.start() - 60):number.end() + 20]!r}"
    if (share := re.search(r"mfu (\S+) %", out)) and float(share[1]) > 100:
        return f"prints {share[0]}"
    return None


def outside(text, low, high):
    """Is a number outside [low, high], or no whole number where the limits are whole?"""
    try:
        value = int(text)
    except ValueError:
        value = float(text)
        if value in (float("inf"), float("-inf")) or (value != int(value) and "." not in low):
            return True
    return (low != "-" and value < float(low)) or (high != "-" and value > (int(high) if high.isdigit() else float(high)))


def hostile_values(row, low, high, flag, every):
    """Values that a row must refuse: those next to its limits, and some of the table."""
    others = [v for v in HOSTILE + (FLAG_ONLY if flag else []) if v in FLAG_ONLY or outside(v, low, high)]
    chosen = others if every else [others[(row + i * 7) % len(others)] for i in range(min(A_ROW, len(others)))]
    next_to = [str(int(low) - 1)] if re.fullmatch(r"-?\d+", low) else []
    next_to += [str(int(high) + 1)] if high.isdigit() else []
    return list(dict.fromkeys(next_to + chosen))


def with_value(place, value, command):
    """The command with `value` at its place."""
    arguments = command.split()
    files = {"CONFIG": CONFIG, "CLUSTER": CLUSTER, "MODEL": MODELS["gpt2"]}
    if place.startswith("--"):
        arguments += [place, f"random:{value}" if place == "--data" else value]
    else:
        kind, path = place.split(":")
        if kind == "model":
            family, path = path.split(".", 1)
            files["MODEL"] = MODELS[family]
        if path.startswith("scheduler"):
            files["CONFIG"] = CONFIG | {"scheduler": {"type": "WarmupLR", "params": {}}}
        if path.startswith("fp16"):
            files["CONFIG"] = CONFIG | {"fp16": {"enabled": True}}
        if path.startswith("zero_optimization") and "--zero-stage" in arguments:
            at = arguments.index("--zero-stage")
            files["CONFIG"] = CONFIG | {"zero_optimization": {"stage": int(arguments[at + 1])}}
            del arguments[at:at + 2]
        files[kind.upper()] = placed(files[kind.upper()], path, Raw(value))
    return arguments, {n: dump(t) for n, t in files.items() if n in arguments}


def rows(name):
    lines = (HERE / name).read_text().splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def commands(name):
    for status, says, config, model, command in rows(name):
        arguments = command.split()
        files = {"CONFIG": config, "MODEL": model, "CLUSTER": dump(CLUSTER)}
        yield Case(arguments, int(status), tuple(s for s in says.split("|") if s), {n: t for n, t in files.items() if n in arguments})


def cases(every):
    for row, (place, low, high, good, command) in enumerate(rows("numbers.tsv")):
        for value in good.split():
            arguments, files = with_value(place, value, command)
            yield Case(arguments, 0, files=files)
        for value in hostile_values(row, low, high, place.startswith("--"), every):
            arguments, files = with_value(place, value, command)
            # a file's number beyond 64 bits is refused by its line and column
            readable = place.startswith("--") or abs(float(value)) < 2**63
            says = [place.split(":")[-1].split(".")[-1]] + ([high] if place.startswith(("--", "model:")) else [])
            yield Case(arguments, 2, says if readable else (), files)
    yield from commands("commands.tsv")


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    if len(arguments) < 2:
        raise SystemExit(__doc__)
    shardlab, root = (os.path.abspath(a) for a in arguments[:2])
    found = commands("large.tsv") if "--large" in sys.argv else cases("--all" in sys.argv)
    todo = [c for c in found if only in str(c)]
    for case in todo[::LEAKS_EVERY]:
        case.searched = True
    if "--predict-only" in sys.argv:
        todo = [c for c in todo if c.arguments[0] not in ("measure", "validate", "calibrate")]
    failed = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for case, fault in zip(todo, pool.map(lambda c: c.run(shardlab, root, folder), todo)):
            if fault:
                failed += 1
                print(f"{case}\n    {fault}")
    print(f"{len(todo)} cases, {failed} of them wrong")
    sys.exit(1 if failed or not todo else 0)


if __name__ == "__main__":
    main()
