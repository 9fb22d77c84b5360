"""Hold public_models.tsv against transformers: totals of parameters, and names and shapes of tensors.

    python public_models.py [SHARDLAB]    # needs transformers and torch; SHARDLAB: the program, whose tensors are compared too

Models are made on torch's meta device, so that no weight is. Not part of the test suite, which holds our totals to the table.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM

PREFIXES = ("model.decoder.", "transformer.", "model.", "gpt_neox.")


def rows():
    for line in Path(__file__).with_name("public_models.tsv").read_text().splitlines():
        if not line.startswith("#"):
            name, total, config = line.split("\t")
            yield name, int(total), json.loads(config)


def bare(name):
    if name.startswith("model.decoder."):
        return name[len("model."):]
    for prefix in PREFIXES:
        if name.startswith(prefix):
            return name[len(prefix):]
    return name


def theirs(config):
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**config))
    return {bare(name): list(p.shape) for name, p in model.named_parameters()}, sum(p.numel() for p in model.parameters())


def ours(program, config):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(config, file)
        file.flush()
        out = subprocess.run([program, "show", "model", "--model", file.name, "--json", "-"], check=True,
                             capture_output=True, text=True).stdout
    return {t["name"]: t["shape"] for t in json.loads(out)["tensors"]}


def main():
    bad = 0
    for name, total, config in rows():
        shapes, count = theirs(config)
        said = "" if count == total else f"  transformers has {count}"
        if len(sys.argv) > 1:
            mine = ours(sys.argv[1], config)
            if mine != shapes:
                said += f"  tensors differ: {sorted(set(map(str, mine.items())) ^ set(map(str, shapes.items())))[:6]}"
        bad += said != ""
        print(f"{name:40} {total:13}{said}", flush=True)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
