"""Settings of public repositories are read, or refused with the key: public.py SHARDLAB FOLDER

FOLDER/table.tsv says where each file is from and what becomes of it: "key=value ..." of the configuration and of the model (model_type, layers, width,
vocab_size), once there is a plan, or the error line.
"""
import json
import pathlib
import subprocess
import sys

SHARDLAB, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
FLAGS = {".toml": "--from-torchtitan", ".yaml": "--from-accelerate", ".json": "--config", ".sh": "--from-megatron"}
MODEL = {"model_type": ("model_type",), "layers": ("num_hidden_layers", "n_layer"), "width": ("hidden_size", "n_embd"), "vocab_size": ("vocab_size",)}


def show(what, words):
    return subprocess.run([SHARDLAB, "show", what, *words, "--json", "-"], cwd=FOLDER, capture_output=True, text=True, check=False)


def at(document, path):
    for key in path.split("."):
        document = document.get(key) if isinstance(document, dict) else None
    return document


def value(config, model, key):
    if key in MODEL:
        return next(model[name] for name in MODEL[key] if name in model)
    found = at(config, key)
    return found[0] if isinstance(found, list) and len(found) == 1 else found


def check(name, flags, expected):
    words = [FLAGS[pathlib.Path(name).suffix], name, *flags.split(), "--cluster", "dgx-h100"]
    plan = show("plan", words)
    if plan.returncode != 0:
        error = [line for line in plan.stderr.splitlines() if line.startswith("shardlab: error: ")]
        assert plan.returncode == 2 and error == [f"shardlab: error: {expected}"], (name, plan.stderr)
        return False
    config, model = (json.loads(show(what, words).stdout) for what in ("config", "model"))
    for pair in expected.split():
        key, _, want = pair.partition("=")
        got = value(config, model, key)
        assert (got if isinstance(got, str) else json.dumps(got, separators=(",", ":"))) == want, (name, key, got, want)
    return True


def main():
    rows = [line.rstrip("\n").split("\t") for line in (FOLDER / "table.tsv").open() if not line.startswith("#")]
    files = {path.name for path in FOLDER.iterdir()} - {"table.tsv"}
    assert files == {row[0] for row in rows}, files ^ {row[0] for row in rows}
    assert len(rows) >= 20 and all(len(row) == 7 and len(row[3]) == 40 for row in rows)
    read = [check(name, flags, expected) for name, _, _, _, _, flags, expected in rows]
    print(f"{sum(read)} of {len(read)} read, the others refused with their key")


if __name__ == "__main__":
    main()
