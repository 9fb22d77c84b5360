"""What the make_*.py scripts share: weights and tokens from fixed seeds, the training runs, and the files they write.

A model is a dict of named fp32 arrays and a function loss(params, batch); everything here is done once in fp32 and once in
fp64. torch.optim is the oracle for the optimizers, autograd for the gradients. README.md says what each file holds.
"""
import json
import platform
from pathlib import Path

import numpy as np
import safetensors
import torch
from safetensors.numpy import save_file

STEPS = 10
GLOBAL_BATCH = 8
CLIP = 0.5

ADAMW = {"lr": 3e-3, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1}
SGD = {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.01}
RUNS = {  # name: (class in torch.optim, its arguments, global norm to clip to; 0 = off)
    "adamw": ("AdamW", ADAMW, 0.0),
    "adamw_clip": ("AdamW", ADAMW, CLIP),
    "sgd": ("SGD", SGD, 0.0),
    "sgd_clip": ("SGD", SGD, CLIP),  # AdamW hardly sees the scale of its gradients; this run does
}


def setup():
    """One thread and deterministic kernels: the same build of torch on the same kind of CPU repeats its bytes."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)


def weight(rng, *shape, std, mean=0.0):
    return (mean + std * rng.standard_normal(shape)).astype(np.float32)


def make_tokens(rng, vocab_size, count):
    """A noisy walk: mostly a fixed function of the last token, so that there is something to learn; skewed, so that
    some tokens are rare."""
    tokens = np.zeros(count, dtype=np.uint16)
    tokens[0] = 7
    for i in range(1, count):
        follow = (5 * int(tokens[i - 1]) + 3) % vocab_size
        other = int(vocab_size * rng.random_sample() ** 2)
        tokens[i] = follow if rng.random_sample() < 0.7 else other
    return tokens


def write_shard(path, tokens):
    """llm.c's GPT-2 shard: 256 little-endian int32 {20240520, 1, tokens, 0 ...}, then uint16."""
    header = np.zeros(256, dtype="<i4")
    header[:3] = 20240520, 1, len(tokens)
    path.write_bytes(header.tobytes() + tokens.astype("<u2").tobytes())


def token_batches(tokens, seq):
    """Step s takes sequences 8 s .. 8 s + 7; sequence i is tokens [i seq, i seq + seq), its targets the same plus one."""
    t = torch.from_numpy(tokens.astype(np.int64))
    x = t[: STEPS * GLOBAL_BATCH * seq].view(STEPS, GLOBAL_BATCH, seq)
    y = t[1 : 1 + STEPS * GLOBAL_BATCH * seq].view(STEPS, GLOBAL_BATCH, seq)
    return list(zip(x, y))


def to_params(init, dtype):
    return {name: torch.from_numpy(a.copy()).to(dtype).requires_grad_() for name, a in init.items()}


def global_norm(params):
    """In double, from gradients of either type."""
    return sum(float((p.grad.double() ** 2).sum()) for p in params.values()) ** 0.5


def gradients(init, loss, batch, dtype):
    params = to_params(init, dtype)
    loss(params, batch).backward()
    return {name: p.grad.numpy() for name, p in params.items()}


def train(init, loss, batches, run, dtype):
    """Returns the losses (each before its step's update), the gradient norms before clipping, and the final weights."""
    optimizer, arguments, clip = RUNS[run]
    params = to_params(init, dtype)
    opt = getattr(torch.optim, optimizer)(params.values(), **arguments)
    losses, norms = [], []
    for batch in batches:
        opt.zero_grad()
        value = loss(params, batch)
        value.backward()
        norms.append(global_norm(params))
        if clip > 0 and norms[-1] > clip:
            for p in params.values():
                p.grad.mul_(clip / (norms[-1] + 1e-6))
        opt.step()
        losses.append(value.item())
    assert np.isfinite(losses + norms).all() and all(p.isfinite().all() for p in params.values()), run
    return losses, norms, {name: p.detach().numpy() for name, p in params.items()}


def relative(a, b):
    """|a - b| / |b| over a whole tensor."""
    b = b.astype(np.float64)
    return float(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-300))


def worst_tensor(a, b):
    name = max(b, key=lambda n: relative(a[n], b[n]))
    return {"tensor": name, "relative_error": relative(a[name], b[name])}


def f32(tensors):
    return {name: np.ascontiguousarray(a, dtype=np.float32) for name, a in tensors.items()}


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2) + "\n")


def write_ds_configs(folder, shardlab):
    for run, (optimizer, arguments, clip) in RUNS.items():
        write_json(folder / f"ds_{run}.json", {
            "train_batch_size": GLOBAL_BATCH,
            "gradient_clipping": clip,
            "optimizer": {"type": optimizer, "params": arguments},
            "zero_optimization": {"stage": 0},
            "shardlab": {"shuffle": False, **shardlab},
        })


def made_with(script):
    return {"script": script, "torch": torch.__version__, "numpy": np.__version__, "safetensors": safetensors.__version__,
            "python": platform.python_version(), "cpu_capability": torch.backends.cpu.get_cpu_capability(), "threads": 1}


def write_all(folder, script, init, loss, batches, facts, shardlab):
    """Everything that follows from the initial weights, the loss function and the batches."""
    save_file(init, folder / "init.safetensors")
    grads = {d: gradients(init, loss, batches[0], d) for d in (torch.float32, torch.float64)}
    save_file(f32(grads[torch.float32]), folder / "grads.safetensors")
    save_file(f32(grads[torch.float64]), folder / "grads_f64.safetensors")
    out = {"made_with": made_with(script), **facts, "steps": STEPS, "global_batch": GLOBAL_BATCH,
           "hyperparameters": {run: {"type": o, **a, "gradient_clipping": c} for run, (o, a, c) in RUNS.items()}}
    norms, rounding = {}, {"grads": worst_tensor(grads[torch.float32], grads[torch.float64])}
    for run in RUNS:
        single, norms[run], final = train(init, loss, batches, run, torch.float32)
        double, norms[run + "_f64"], final_f64 = train(init, loss, batches, run, torch.float64)
        out[run], out[run + "_f64"] = single, double
        rounding[run] = {"loss": max(abs(a - b) / b for a, b in zip(single, double)),
                         "weights": worst_tensor(final, final_f64)}
        if run == "adamw":
            save_file(f32(final), folder / "final_adamw.safetensors")
    out["grad_norms"] = norms
    out["fp32_against_fp64"] = rounding
    write_json(folder / "losses.json", out)
    write_ds_configs(folder, shardlab)
    print(json.dumps({"made_with": out["made_with"], "fp32_against_fp64": rounding}, indent=2))
    for run in RUNS:
        print(f"{run:10}", " ".join(f"{v:.5f}" for v in out[run]), "| norms", " ".join(f"{v:.3f}" for v in norms[run]))


def compare_with(theirs, ours, what):
    """For --check-hf: print how far two dicts of tensors are apart, and fail beyond rounding."""
    apart = [float((theirs[n] - ours[n]).abs().max() / theirs[n].abs().max().clamp_min(1e-30)) for n in theirs]
    worst = float(np.max(apart))  # unlike max(), not blind to NaN
    print(f"{what}: {len(theirs)} tensors, largest difference {worst:.3g} of the tensor's largest value")
    if set(theirs) != set(ours) or not worst < 1e-5:
        raise SystemExit(f"{what}: differs from transformers")


def folder_of(script, name):
    path = Path(script).resolve().parent / name
    path.mkdir(exist_ok=True)
    return path
