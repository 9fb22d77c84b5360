"""Hold public_models.tsv against transformers: totals of parameters.

    python public_models.py    # needs transformers and torch

Models are made on torch's meta device, so that no weight is. Not part of the test suite, which holds our totals to the table.
"""
import json
import sys
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM


def rows():
    for line in Path(__file__).with_name("public_models.tsv").read_text().splitlines():
        if not line.startswith("#"):
            name, total, config = line.split("\t")
            yield name, int(total), json.loads(config)


def parameters(config):
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**config))
    return sum(p.numel() for p in model.parameters())


def main():
    bad = 0
    for name, total, config in rows():
        count = parameters(config)
        bad += count != total
        print(f"{name:40} {total:13}{'' if count == total else f'  transformers has {count}'}", flush=True)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
