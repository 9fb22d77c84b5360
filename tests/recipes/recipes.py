"""The recipes of docs/architecture.md carried out: an op, a collective and a model family, each a toy and a patch beside this file.

    recipes.py ROOT FOLDER SHARDLAB [RECIPE...]

For each recipe the tree ROOT is copied to FOLDER/RECIPE, patched and built there, and the patched program is held against SHARDLAB: the
toy is part of what it runs, and what it trains is the same to the bit. Last, the places that a recipe touches are counted, files that were
there before, with the tables of kernels/ as one: no more than MOST.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

MOST = {"op": 6, "collective": 3, "family": 1}
HERE = pathlib.Path(__file__).resolve().parent


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def copy_patched(root, folder, patch):
    """The tree as it stands, tracked and new files, with the patch in it."""
    files = run("git", "-C", root, "ls-files", "-co", "--exclude-standard").split("\n")
    shutil.rmtree(folder, ignore_errors=True)
    for name in filter(None, files):
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, folder / name)
    # the copy lies inside a checkout, whose paths are not meant
    run("git", "apply", patch, cwd=folder, env=os.environ | {"GIT_CEILING_DIRECTORIES": str(folder.parent)})


def build(folder):
    run("cmake", "-S", folder, "-B", folder / "build", "-DCMAKE_BUILD_TYPE=Release", "-DSL_CUDA=OFF")
    run("cmake", "--build", folder / "build", "-j", os.environ.get("SL_JOBS", "2"), "--target", "shardlab", "shardlab_host")
    return folder / "build/bin/shardlab"


def places(patch):
    text = patch.read_text()
    files = re.findall(r"^diff --git a/(\S+)", text, re.M)
    new = re.findall(r"^--- /dev/null\n\+\+\+ b/(\S+)", text, re.M)
    return sorted({"kernels/" if f.startswith("kernels/") else f for f in files if f not in new})


def trained(shardlab, arguments):
    """Losses and gradient norms of a run, and its record."""
    record = json.loads(run(shardlab, "measure", *arguments, "--steps", "3", "--quiet", "--json", "-"))
    return [record["losses"], record["grad_norms"]], record


def same_training(root, old, new, arguments, of_new=None):
    before, _ = trained(old, arguments)
    after, record = trained(new, of_new or arguments)
    if before != after:
        sys.exit(f"trains another way: {before} before, {after} after")
    return record


def mlp(root):
    return ["--model", root / "examples/mlp.json", "--config", root / "examples/ds_adam_mlp.json"]


def op(root, old, new):
    """Scaling by 2 and by 1/2 before every ReLU of an mlp, and of its gradient."""
    program = run(new, "show", "program", *mlp(root))
    if len(re.findall(r"\bscale\b", program)) < 4:
        sys.exit("the program has no op called scale")
    run(new, "check", *mlp(root), "--quiet")
    same_training(root, old, new, [*mlp(root), "--data", "random:64"])


def collective(root, old, new):
    """A sum of its own in place of all_reduce, for whole gradients."""
    arguments = [*mlp(root), "--zero-stage", "0", "--world", "2"]
    run(new, "check", *arguments, "--quiet")
    predicted = json.loads(run(new, "predict", *arguments, "--quiet", "--json", "-"))
    measured = same_training(root, old, new, [*arguments, "--data", "random:64"])
    for record in (predicted, measured):
        if not any(row["op"] == "toy_sum" and row["payload"] == "gradient" for row in record["traffic"]):
            sys.exit(f"no toy_sum in the traffic of the {record['kind']} record")


def family(root, old, new):
    """gpt2 under another name, with a reader of its own row."""
    gpt2 = {"model_type": "gpt2", "vocab_size": 256, "n_positions": 32, "n_layer": 2, "n_embd": 32, "n_head": 2}
    folder = new.parent.parent
    for name in ("gpt2", "toy"):
        (folder / f"{name}.json").write_text(json.dumps(gpt2 | {"model_type": name}))
    rest = ["--config", root / "examples/ds_zero1.json", "--seq", "16", "--world", "2", "--data", root / "examples/corpus.txt"]
    same_training(root, old, new, ["--model", folder / "gpt2.json", *rest], ["--model", folder / "toy.json", *rest])


RECIPES = {"op": op, "collective": collective, "family": family}


def main():
    root, folder, shardlab, *wanted = sys.argv[1:]
    root, folder = pathlib.Path(root).resolve(), pathlib.Path(folder).resolve()
    for name in wanted or RECIPES:
        patch = HERE / f"{name}.patch"
        copy_patched(root, folder / name, patch)
        RECIPES[name](root, pathlib.Path(shardlab).resolve(), build(folder / name))
        touched = places(patch)
        print(f"{name}: {len(touched)} places: {', '.join(touched)}")
        if len(touched) > MOST[name]:
            sys.exit(f"{name}: more than {MOST[name]} places")


if __name__ == "__main__":
    main()
