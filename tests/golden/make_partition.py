"""How PyTorch deals parameters to ranks and gradients to buckets: writes partition/pytorch.json (see README.md).

    python make_partition.py

Calls PyTorch's own code: ZeroRedundancyOptimizer._partition_parameters on an instance without process groups, and
torch.distributed._compute_bucket_assignment_by_size as DDP's reducer does when it rebuilds its buckets after the first step
(gradients in the order in which backward makes them: the reverse of the parameter list). Parameters are meta tensors: only
their shapes count.
"""
import collections
import json
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.optim import ZeroRedundancyOptimizer

MIB = 1 << 20
WORLDS = [2, 3, 4, 8]
FIRST_BUCKET, BUCKET = dist._DEFAULT_FIRST_BUCKET_BYTES, 25 * MIB  # DistributedDataParallel's defaults


def gpt2(vocab_size, n_positions, n_embd, n_layer):
    n = n_embd
    shapes = {"wte.weight": (vocab_size, n), "wpe.weight": (n_positions, n)}
    for i in range(n_layer):
        for name, shape in (("ln_1", (n,)), ("attn.c_attn", (n, 3 * n)), ("attn.c_proj", (n, n)), ("ln_2", (n,)),
                            ("mlp.c_fc", (n, 4 * n)), ("mlp.c_proj", (4 * n, n))):
            shapes[f"h.{i}.{name}.weight"] = shape
            shapes[f"h.{i}.{name}.bias"] = shape[-1:]
    return {**shapes, "ln_f.weight": (n,), "ln_f.bias": (n,)}


def mlp(dims):
    shapes = {}
    for i, (inside, outside) in enumerate(zip(dims, dims[1:])):
        shapes[f"{i}.weight"], shapes[f"{i}.bias"] = (outside, inside), (outside,)
    return shapes


def owners(params, world):
    """The rank of each parameter."""
    zero = ZeroRedundancyOptimizer.__new__(ZeroRedundancyOptimizer)
    zero.world_size = world
    zero.param_groups = [{"params": params}]
    zero._partition_parameters_cache = []
    place = {id(p): i for i, p in enumerate(params)}
    out = [None] * len(params)
    for rank, groups in enumerate(zero._partition_parameters()):
        for p in groups[0]["params"]:
            assert out[place[id(p)]] is None
            out[place[id(p)]] = rank
    return out


def buckets(params, limits):
    """Elements of each bucket, in the order in which they are reduced."""
    order = list(reversed(range(len(params))))
    made, _ = dist._compute_bucket_assignment_by_size([params[i] for i in order], limits, [False] * len(order), order)
    assert sorted(i for b in made for i in b) == sorted(order)
    return [sum(params[i].numel() for i in b) for b in made]


def main():
    here = Path(__file__).resolve().parent
    odd = json.loads((here / "gpt2_odd" / "config.json").read_text())
    wide = json.loads((here / "partition" / "mlp_wide.json").read_text())
    models = {
        "gpt2": gpt2(50257, 1024, 768, 12),
        "gpt2_odd": gpt2(odd["vocab_size"], odd["n_positions"], odd["n_embd"], odd["n_layer"]),
        "mlp_wide": mlp(wide["dims"]),
    }
    out = collections.OrderedDict(made_with={"script": "make_partition.py", "torch": torch.__version__})
    for name, shapes in models.items():
        of = {t: [torch.empty(s, device="meta", dtype=getattr(torch, t)) for s in shapes.values()]
              for t in ("float32", "bfloat16")}
        out[name] = {
            "numel": [p.numel() for p in of["float32"]],
            "owners": {str(w): owners(of["float32"], w) for w in WORLDS},
            "ddp_buckets": {t: buckets(params, [FIRST_BUCKET, BUCKET]) for t, params in of.items()},
        }
    text = json.dumps(out, indent=1)
    for value in (v for m in models for v in [out[m]["numel"], *out[m]["owners"].values(), *out[m]["ddp_buckets"].values()]):
        text = text.replace(json.dumps(value, indent=1).replace("\n", "\n   "), json.dumps(value))
        text = text.replace(json.dumps(value, indent=1).replace("\n", "\n  "), json.dumps(value))
    assert json.loads(text) == out
    (here / "partition" / "pytorch.json").write_text(text + "\n")
    for m in models:
        print(m, {w: o[:9] for w, o in out[m]["owners"].items()}, out[m]["ddp_buckets"])


if __name__ == "__main__":
    main()
