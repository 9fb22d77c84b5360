"""Holds the run record against the list of its keys, core/record/keys.def.

    keys.py page ROOT [--write]        docs/record.md is what the list makes of it (--write: make it so)
    keys.py written ROOT SHARDLAB      every key that the program writes is listed, with its shape and for its kind; every listed key is
                                       written by one of the runs below, but for those that only a GPU's records have
    keys.py records ROOT RECORD...     the same of records that are there, of GPUs: every key is listed, and they have those keys

`--plant` puts one fault of each kind into the list and asks that it be found.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace

GPU_ONLY = ("as_rank", "environment.devices", "environment.launches")
SHAPES = {"TEXT": str, "BOOLEAN": bool, "INTEGER": int, "NUMBER": (int, float), "OBJECT": dict, "LIST": list, "DOCUMENT": dict}
SHAPE_NAMES = {"TEXT": "text", "BOOLEAN": "true or false", "INTEGER": "integer", "NUMBER": "number", "OBJECT": "object", "LIST": "list",
               "DOCUMENT": "object", "ANY": ""}
WHEN_NAMES = {"MUST": "always", "ALWAYS": "always", "MAY": "if it applies", "NEVER": "no"}


def fits(pattern, path):
    """Is `path` one of those that the list's `pattern` stands for?"""
    parts, own = path.split("."), pattern.split(".")
    return len(parts) == len(own) and all(a == b or a == "*" and not b.endswith("[]") for a, b in zip(own, parts))


@dataclass(frozen=True)
class Key:
    path: str
    shape: str
    predicted: str
    measured: str
    unit: str
    about: str

    def when(self, kind):
        return self.predicted if kind == "predicted" else self.measured

    def is_always_in(self, kind, parent):
        """Has every object `parent` of such a record this key?"""
        head, _, name = self.path.rpartition(".")
        return self.when(kind) in ("MUST", "ALWAYS") and name != "*" and fits(head, parent)


def read_keys(root):
    text = (root / "core/record/keys.def").read_text()
    keys = [Key(*row) for row in re.findall(r'^KEY\("([^"]+)",\s*(\w+),\s*(\w+),\s*(\w+),\s*"([^"]*)",\s*"([^"]*)"\)$', text, re.M)]
    if len(keys) != len(re.findall(r"^KEY\(", text, re.M)):
        sys.exit("core/record/keys.def: a row that is not KEY(\"path\", SHAPE, WHEN, WHEN, \"unit\", \"about\")")
    return keys


def page(keys):
    lines = ["# The run record",
             "",
             "What one `predict` or `measure` found, as JSON. This writes the record of a prediction to a file:",
             "",
             "    shardlab predict --model gpt2-xl --config examples/ds_zero2.json --cluster dgx-a100-80g --world 64 --json record.json",
             "",
             "Both kinds of record have the same keys, so that one can be laid beside the other (`shardlab compare`). A prediction",
             "leaves out what it cannot know (losses).",
             "",
             "In the column `key` dots descend, `[]` stands for each element of a list, and `*` for any other key of the object.",
             "",
             "`tests/core/record/keys.py page . --write` makes this page from `core/record/keys.def`. The reader of records checks",
             "the same list.",
             "",
             "| key | type | unit | predicted | measured | what it is |",
             "|---|---|---|---|---|---|"]
    lines += [f"| `{k.path}` | {SHAPE_NAMES[k.shape]} | {k.unit} | {WHEN_NAMES[k.predicted]} | {WHEN_NAMES[k.measured]} | {k.about} |" for k in keys]
    return "\n".join(lines) + "\n"


def find(keys, path):
    """The row of a path: its own before one with a star."""
    return next((k for k in keys if k.path == path), None) or next((k for k in keys if fits(k.path, path)), None)


def has_shape(value, shape):
    return shape == "ANY" or isinstance(value, SHAPES[shape]) and isinstance(value, bool) == (shape == "BOOLEAN")


def faults_of(keys, record, seen):
    """What is wrong with the keys of one record; the rows that it has go to `seen`, with its kind."""
    kind = record["kind"]

    def inside(value, parent):
        for name, item in value.items():
            yield from at(item, f"{parent}.{name}" if parent else name)
        for key in keys:
            if key.is_always_in(kind, parent) and key.path.rpartition(".")[2] not in value:
                yield f"{kind}: {key.path} is absent, listed as {key.when(kind)}"

    def at(value, path):
        key = find(keys, path)
        if key is None:
            yield f"{kind}: {path} is written, and not listed"
            return
        seen.add((key.path, kind))
        if not has_shape(value, key.shape):
            yield f"{kind}: {path} is {json.dumps(value)[:40]}, listed as {key.shape}"
        elif key.shape == "OBJECT":
            yield from inside(value, path)
        elif key.shape == "LIST" and any(k.path.startswith(key.path + "[].") for k in keys):
            for row in value:
                yield from inside(row, path + "[]")
        if key.when(kind) == "NEVER":
            yield f"{kind}: {path} is written, listed as NEVER"

    return list(dict.fromkeys(inside(record, "")))


def never_written(keys, seen):
    for key in keys:
        for kind in ("predicted", "measured"):
            if key.when(kind) != "NEVER" and (key.path, kind) not in seen:
                yield f"{kind}: {key.path} is listed as {key.when(kind)}, and none of these runs writes it"


def runs(root, shardlab, folder):
    """Commands whose records have between them every key that needs no GPU."""
    examples = root / "examples"
    profile = json.loads(subprocess.run([shardlab, "show", "cluster", "--cluster", "localhost"], capture_output=True, text=True, check=True).stdout)
    profile["op_costs"] = [{"op": "gemm", "dtype": "fp32", "ranks": 1, "launch_us": 50, "launch_us_stderr": 5}]  # made up, for an interval
    (folder / "calibrated.json").write_text(json.dumps(profile))
    zero3 = ["--model", "gpt2-tiny", "--config", examples / "ds_zero3.json"]
    tiny = [*zero3, "--seq", "16"]
    mlp = ["--model", examples / "mlp.json", "--config", examples / "ds_adam_mlp.json"]
    text = ["--data", examples / "corpus.txt"]
    yield ["predict", *tiny, "--cluster", "dgx-h100", "--world", "4", "--pp", "2", "--nccl-algo", "choice"]
    yield ["predict", *tiny, "--cluster", "dgx-h100", "--world", "512"]
    yield ["predict", *mlp, "--cluster", folder / "calibrated.json", "--threads", "1"]
    too_large = ["--model", "gpt2-xl", "--config", examples / "ds_zero2.json", "--cluster", "dgx-a100-40g"]
    yield ["predict", *too_large, "--micro-batch", "32"]
    yield ["predict", *too_large, "--model", "gpt3-175b"]
    small = json.loads(subprocess.run([shardlab, "show", "cluster", "--cluster", "dgx-h100"], capture_output=True, text=True, check=True).stdout)
    small["device"]["memory_GiB"] = 1  # less than the context takes
    (folder / "small.json").write_text(json.dumps(small))
    yield ["predict", *zero3, "--cluster", folder / "small.json"]
    yield ["predict", *zero3, "--cluster", "dgx-h100", "--max-seq"]
    yield ["predict", *mlp, "--cluster", folder / "calibrated.json", "--threads", "1", "--save-every", "2"]
    yield ["measure", *mlp, "--data", "random:64", "--epochs", "2", "--threads", "1", "--checkpoint", folder / "checkpoints"]
    yield ["measure", *mlp, "--data", "random:64", "--steps", "99", "--threads", "1", "--resume", folder / "checkpoints"]
    yield ["measure", *tiny, *text, "--world", "2", "--pp", "2", "--zero-stage", "0", "--steps", "2"]
    for verb in (["predict"], ["measure", *text]):
        yield [*verb, *tiny, "--zero-stage", "2", "--offload-optimizer", "cpu", "--steps", "2"]
    yield ["measure", *tiny, *text, "--world", "2", "--steps", "1", "--max-restarts", "1"]
    (folder / "onebit.json").write_text(json.dumps({"train_micro_batch_size_per_gpu": 4, "optimizer": {"type": "OneBitAdam", "params": {"freeze_step": 2}}, "flops_profiler": {"enabled": True}, "wall_clock_breakdown": True}))
    onebit = ["--model", examples / "mlp.json", "--config", folder / "onebit.json", "--world", "2"]
    yield ["predict", *onebit, "--eval-interval", "2"]
    yield ["measure", *onebit, "--data", "random:64", "--steps", "3", "--eval-interval", "2", "--val-split", "0.3"]


def written(keys, records):
    seen = set()
    faults = [fault for record in records for fault in faults_of(keys, record, seen)]
    return faults + list(never_written(keys, seen))


def planted(keys):
    """One fault of each kind: the list that has it, and what is to be said of it."""
    def changed(path, **what):
        return [replace(k, **what) if k.path == path else k for k in keys]

    yield "a key left out", [k for k in keys if k.path != "plan.seq"], "plan.seq is written, and not listed"
    yield "a key too many", keys + [Key("plan.colour", "TEXT", "MAY", "MAY", "", "")], "plan.colour is listed as MAY"
    yield "a key that must be", keys + [Key("plan.colour", "TEXT", "MUST", "MAY", "", "")], "predicted: plan.colour is absent"
    yield "another shape", changed("plan.seq", shape="TEXT"), "plan.seq is 16, listed as TEXT"
    yield "the other kind", changed("losses", measured="NEVER"), "measured: losses is written, listed as NEVER"


def check_written(root, shardlab, plant):
    keys = [k for k in read_keys(root) if not k.path.startswith(GPU_ONLY)]
    with tempfile.TemporaryDirectory() as name:
        records = []
        for arguments in runs(root, shardlab, pathlib.Path(name)):
            out = subprocess.run([shardlab, *arguments, "--quiet", "--json", "-"], capture_output=True, text=True)
            if out.returncode != 0:
                sys.exit(f"{' '.join(map(str, arguments))}: {out.stderr}")
            records.append(json.loads(out.stdout))
    faults = written(keys, records)
    if plant:
        faults += [f"{what}: not found" for what, changed, said in planted(keys)
                   if not any(said in fault for fault in written(changed, records))]
    return faults


def check_records(root, paths):
    keys, seen = read_keys(root), set()
    faults = [fault for path in paths for fault in faults_of(keys, json.loads(pathlib.Path(path).read_text()), seen)]
    return faults + list(never_written([k for k in keys if k.path.startswith(GPU_ONLY)], seen))


def check_page(root, write):
    path, text = root / "docs/record.md", page(read_keys(root))
    if write:
        path.write_text(text)
    return [] if path.exists() and path.read_text() == text else ["docs/record.md is not what core/record/keys.def makes of it: keys.py page ROOT --write"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("page", "written", "records"))
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--plant", action="store_true")
    a = parser.parse_args()
    if a.what == "page":
        faults = check_page(a.root, a.write)
    else:
        faults = check_written(a.root, a.paths[0], a.plant) if a.what == "written" else check_records(a.root, a.paths)
    print("\n".join(faults) or "0 faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
