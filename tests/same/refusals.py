"""Requests that are refused, as cases of many commands: tests/bad_inputs, and what each framework's preset says no to."""
import shlex
from pathlib import Path

from same.case import Case

INPUTS = Path(__file__).parents[1] / "bad_inputs"
COMMANDS = ("predict", "show", "compare")  # the others of cases.tsv need a backend

FRAMEWORKS = """
--preset ddp --tp 2
--preset ddp --pp 2
--preset ddp --cp 2
--preset ddp --shard-size 4
--preset zero-redundancy-optimizer --tp 2
--preset fsdp --pp 2
--preset fsdp --shard-size 4
--preset fsdp --zero-stage 2
--preset fsdp-hybrid-shard
--preset fsdp2 --pp 4 --grad-accum 2
--preset deepspeed-2 --pp 2
--preset deepspeed-3 --zero-stage 2
--preset deepspeed-1 --virtual-stages 2 --pp 2
--preset deepspeed-1 --pp 2 --schedule gpipe --grad-accum 4
--preset deepspeed-1 --tp 2 --sequence-parallel
--preset deepspeed-1 --recompute full --recompute-every 2
--preset deepspeed-pipeline --zero-stage 2 --pp 2
--preset mics
--preset mics --shard-size 4 --offload-optimizer cpu
--preset zero++
--preset megatron-lm --pp 2 --schedule zb-h1 --grad-accum 4
--preset megatron-lm --virtual-stages 2
--preset megatron-lm --pp 2 --virtual-stages 2 --schedule interleaved --grad-accum 1
--preset megatron-lm --pp 2 --virtual-stages 2 --schedule interleaved --grad-accum 3
--preset megatron-lm --pp 2 --stages parameters
--preset megatron-fsdp --pp 2
--preset accelerate-fsdp --pp 2
--preset accelerate-ddp --tp 2
--preset accelerate-deepspeed --pp 2
"""


def frameworks():
    lines = FRAMEWORKS.strip().split("\n")
    start = ["predict", "--model", "gpt2-tiny", "--world", "8"]
    requests = {f"preset-{i}": start + line.split() for i, line in enumerate(lines, 1)}
    return Case("#what frameworks refuse", {}, requests, "preset-1")


def bad_inputs():
    lines = enumerate((INPUTS / "cases.tsv").read_text().splitlines(), 1)
    requests = {f"line-{number}": shlex.split(line.split("\t")[0]) for number, line in lines if line.split(" ")[0] in COMMANDS}
    files = {path.name: path.read_bytes() for path in INPUTS.iterdir() if path.is_file()}
    return Case("#tests/bad_inputs/cases.tsv", files, requests, next(iter(requests)))


def accepted(case, outputs):
    """Commands that were not refused after all."""
    return [name for name in case.commands if outputs[f"{name}.status"].strip() == b"0"]
