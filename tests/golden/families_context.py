"""Train golden families (make_families.py) on two ranks that share every sequence and hold them against one rank that has it whole.

    families_context.py SHARDLAB [NAME ...]

Keys and values are gathered, or heads exchanged for tokens where two ranks divide them. Two losses in fp32 and every gradient of the first step, each within TOLERANCE of its tensor's largest value. Sequences are of 16 tokens,
since those of the goldens are of an odd number. Without names: every family.
"""
import json
import os
import pathlib
import sys
import tempfile

import families

WHOLE, SHARED = ["--seq", "16", "--attention", "flash"], ["--seq", "16", "--world", "2", "--cp", "2", "--cp-comm-type"]
CANNOT = "expected 2 to divide the"


def train(program, name, words):
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        losses = families.measure(program, folder, name, [*words, "--steps", "2"])
        families.measure(program, folder, name, [*words, "--steps", "1", "--save-grads", folder / "grads.safetensors"])
        return losses, dict(families.tensors(folder / "grads.safetensors"))


def compare(name, one, shared):
    (losses, want), (got_losses, got) = one, shared
    whole = max(max(map(abs, g)) for g in want.values())
    for step, (a, b) in enumerate(zip(got_losses, losses, strict=True)):
        if not abs(a - b) <= families.LOSS_TOLERANCE * abs(b):
            yield f"{name}: the loss of step {step + 1} is {a:.8f}, of one rank {b:.8f}"
    if got.keys() != want.keys():
        yield f"{name}: other names: {sorted(got.keys() ^ want.keys())}"
    for n in sorted(got.keys() & want.keys()):
        noise = 1e-2 if n.endswith("k_proj.bias") else 0  # as in families.py
        largest = max(max(map(abs, want[n])), noise * whole)
        worst = max(abs(a - b) for a, b in zip(got[n], want[n], strict=True)) / largest
        if not worst <= families.TOLERANCE:
            yield f"{name}: the gradient of {n} is {worst:.1e} of its largest value apart"


def faults(program, name):
    one = train(program, name, WHOLE)
    for way in ("all_gather", "a2a"):
        try:
            yield from compare(f"{name}, {way}", one, train(program, name, [*SHARED, way]))
        except RuntimeError as error:
            if way == "all_gather" or CANNOT not in str(error):
                yield f"{name}, {way}: {error}"


def main():
    program = os.path.abspath(sys.argv[1])
    names = sys.argv[2:] or list(json.loads((families.FOLDER / "losses.json").read_text())["losses"])
    found = [fault for name in names for fault in faults(program, name)]
    print(*found, f"{len(names)} models, {len(found)} faults", sep="\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
