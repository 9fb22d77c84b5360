"""Trainings on the host backend, as cases: PyTorch's three small models (tests/golden) and, where tensor parallelism needs
sizes that it divides, those of tests/mpi. Losses, norms, gradients, weights and all of the record but what a clock says."""
import json
from pathlib import Path

from same.case import Case

TESTS = Path(__file__).parents[1]
GOLDEN, GRID = TESTS / "golden", TESTS / "mpi"
STEPS = 10
BUCKETS = {"reduce_bucket_size": 4001, "allgather_bucket_size": 3001, "stage3_param_persistence_threshold": 50}
HALF = {"bf16": {"bf16": {"enabled": True}}, "fp16": {"fp16": {"enabled": True, "initial_scale_power": 8}}}

ZERO = [["--world", "1"], ["--world", "1", "--grad-accum", "2"]]
ZERO += [["--world", "2", "--zero-stage", str(stage)] for stage in range(4)]
ZERO += [["--world", "2", "--preset", "fsdp"], ["--world", "2", "--zero-stage", "3", "--grad-accum", "2", "--poison"]]
PIPELINES = [["--world", "2", "--pp", "2", "--grad-accum", "4", "--schedule", schedule] for schedule in ("1f1b", "zb-h1")]
TENSORS = [["--world", "2", "--tp", "2", "--zero-stage", "1"],
           ["--world", "2", "--tp", "2", "--sequence-parallel", "--recompute", "selective"],
           ["--world", "4", "--tp", "2", "--pp", "2", "--grad-accum", "2"]]


def train(label, model, ds, flags, data, more):
    files = {"model.json": model.read_bytes(), "ds.json": json.dumps(ds).encode(), **more}
    arguments = ["measure", "--model", "model.json", "--config", "ds.json", "--data", data, "--steps", str(STEPS),
                 "--threads", "1", *flags, "--quiet", "--json", "measured.json", "--save", "weights.safetensors",
                 "--save-grads", "grads.safetensors"]
    if "init.safetensors" in files:
        arguments += ["--init", "init.safetensors"]
    return Case(f"#{label} {' '.join(flags)}", files, {"measure": arguments}, "measure")


def golden(name, run, flags):
    """A run of tests/golden from PyTorch's first weights."""
    folder = GOLDEN / name
    ds = json.loads((folder / f"ds_{run}.json").read_text())
    ds["zero_optimization"].update(BUCKETS)
    more = {"init.safetensors": (folder / "init.safetensors").read_bytes()}
    if name != "mlp":
        more["tokens.bin"] = (folder / "tokens.bin").read_bytes()
    return train(f"{name} {run}", folder / "config.json", ds, flags, "tokens.bin" if len(more) > 1 else "random:80", more)


def grid(name, precision, flags):
    """A model that two tensor-parallel ranks divide, from seeded weights."""
    ds = {"train_batch_size": 8, "gradient_clipping": 0.5, "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}},
          "zero_optimization": dict(BUCKETS), **HALF.get(precision, {})}
    if name != "mlp":
        ds["shardlab"] = {"seq_len": 8}
    more = {} if name == "mlp" else {"tokens.bin": (GOLDEN / "gpt2_odd" / "tokens.bin").read_bytes()}
    return train(f"{name} {precision}", GRID / f"grid_{name}.json", ds, flags, "tokens.bin" if more else "random:80", more)


def cases():
    for name in ("gpt2_odd", "llama_odd", "mlp"):
        yield from (golden(name, "adamw_clip", flags) for flags in ZERO + PIPELINES)
        yield from (golden(name, "sgd", flags) for flags in (ZERO[0], ZERO[4]))
    for name in ("gpt2", "llama", "mlp"):
        yield from (grid(name, "fp32", [f for f in flags if name != "mlp" or f != "--sequence-parallel"]) for flags in TENSORS)
    for precision in HALF:
        yield from (grid("gpt2_dropout", precision, flags) for flags in (TENSORS[1], ZERO[3]))
