"""Train every golden family (make_families.py) by `measure` and hold losses and gradients against transformers'.

    families.py SHARDLAB [--all] [NAME ...]

Five losses of AdamW in fp32, and every gradient of the first step, each within TOLERANCE of its tensor's largest value. One rank,
each family by one of ALONE in turn, and those of CUT on two; with --all by every one of them, and on several ranks by each of
TOGETHER that it can be cut by.
"""
import array
import concurrent.futures
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent / "families"
LOSS_TOLERANCE, TOLERANCE = 2e-6, 2e-5
ALONE = {"plain": [], "flash": ["--attention", "flash"], "recomputed": ["--recompute", "full"]}
TOGETHER = {"tp": ["--world", "2", "--tp", "2"],
            "sequence parallel": ["--world", "2", "--tp", "2", "--sequence-parallel", "--recompute", "selective"],
            "pp": ["--world", "2", "--pp", "2", "--micro-batch", "4", "--attention", "flash"],
            "split": ["--world", "2", "--pp", "2", "--micro-batch", "2", "--schedule", "zb-h1"],
            "zero 3": ["--world", "2", "--zero-stage", "3", "--micro-batch", "2", "--recompute", "selective_op"]}
PLANS = ALONE | TOGETHER
CUT = {"phi3": "tp", "olmo2": "sequence parallel", "olmo2_one_key": "tp", "gemma": "tp"}  # whose attention tensor parallelism cuts as no other's
CANNOT = ("heads of model",)  # what a plan says of a model that tp cannot cut


def tensors(path):
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    for name, t in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            assert t["dtype"] == "F32", name
            first, last = t["data_offsets"]
            yield name, array.array("f", data[8 + size + first : 8 + size + last])


def measure(program, folder, name, words):
    from_ = FOLDER / name
    done = subprocess.run(
        [program, "measure", "--model", from_ / "config.json", "--config", FOLDER / "ds_adamw.json", "--data", FOLDER / "tokens.bin",
         "--init", from_ / "init.safetensors", "--threads", "1", "--quiet", "--json", folder / "record.json", *words],
        capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    if done.returncode != 0:
        raise RuntimeError(f"exit status {done.returncode}: {done.stderr.strip()}")
    return json.loads((folder / "record.json").read_text())["losses"]


def faults(program, name, losses, words):
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        mine = measure(program, folder, name, [*words, "--steps", "5"])
        for step, (a, b) in enumerate(zip(mine, losses, strict=True)):
            if not abs(a - b) <= LOSS_TOLERANCE * abs(b):
                yield f"loss {step} is {a:.7f}, expected {b:.7f}"
        measure(program, folder, name, [*words, "--steps", "1", "--save-grads", folder / "grads.safetensors"])
        got, want = dict(tensors(folder / "grads.safetensors")), dict(tensors(FOLDER / name / "grads.safetensors"))
        want = {n.removeprefix("gradient."): g for n, g in want.items()}
        if got.keys() != want.keys():
            yield f"other names: {sorted(got.keys() ^ want.keys())}"
        whole = max(max(map(abs, g)) for g in want.values())
        for n in sorted(got.keys() & want.keys()):
            noise = 1e-2 if n.endswith("k_proj.bias") else 0  # where keys are not turned, it moves all scores of a row alike
            largest = max(max(map(abs, want[n])), noise * whole)
            worst = max(abs(a - b) for a, b in zip(got[n], want[n], strict=True)) / largest
            if not worst <= TOLERANCE:
                yield f"the gradient of {n} is {worst:.1e} of its largest value apart"


def check(program, name, losses, plan):
    try:
        return [f"{name}, {plan}: {fault}" for fault in faults(program, name, losses, PLANS[plan])]
    except (RuntimeError, AssertionError) as error:
        if "--tp" in PLANS[plan] and any(reason in str(error) for reason in CANNOT):
            return []
        return [f"{name}, {plan}: {error}"]


def main():
    program, names = os.path.abspath(sys.argv[1]), [n for n in sys.argv[2:] if n != "--all"]
    losses = json.loads((FOLDER / "losses.json").read_text())["losses"]
    in_turn = list(ALONE)
    jobs = [(program, name, losses[name], plan) for i, name in enumerate(names or losses)
            for plan in (PLANS if "--all" in sys.argv else [in_turn[i % len(in_turn)], *filter(None, [CUT.get(name)])])]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = [fault for list_ in pool.map(lambda job: check(*job), jobs) for fault in list_]
    print(*found, f"{len(jobs)} trainings of {len(set(j[1] for j in jobs))} models, {len(found)} faults", sep="\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
