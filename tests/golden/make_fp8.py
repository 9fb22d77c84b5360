"""How models train with linear layers in fp8: writes gpt2_odd/fp8.json and mlp/fp8.json (see README.md).

    python make_fp8.py

The models, weights and batches of make_gpt2.py and make_mlp.py in bf16 with fp32 master weights; the linear layers of blocks,
and all of the mlp's, by PyTorch's own conversions to torch.float8_e4m3fn and torch.float8_e5m2, in the words of Transformer
Engine's recipe DelayedScaling: format HYBRID, the largest magnitude of the last steps (far fewer here than its history holds),
margin 0, scales renewed once a step, initially 1. Numbers are clamped to a format's largest first, as saturating conversions
do: PyTorch's make NaN or infinity of what is larger. Products are fp32 of the converted numbers, as exact.

Where bf16 is rounded decides on which side of a middle a number in 8 bits falls, which changes it by 1/16: `halves`, a run with
batches in two halves, and GPT-2's `wide`, with activations in fp32, say how far right runs are from each other. The mlp has two
layers, behind which nothing grows. Beside them are wrong runs, which a test must be able to tell from the right ones.
"""
import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import load_file

import golden
import make_gpt2
import make_mlp

STEPS = 8
E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2


class Scaling:
    """The scales of all factors, by name."""

    def __init__(self, gradients=E5M2, updates=True):
        self.gradients, self.updates = gradients, updates
        self.scale, self.amax, self.history = {}, {}, {}

    def cast(self, name, x, dtype):
        scale = self.scale.setdefault(name, 1.0)
        most = torch.finfo(dtype).max
        self.amax[name] = max(self.amax.get(name, 0.0), float(x.abs().max()))
        y = (x.float() * torch.tensor(scale, dtype=torch.float32)).clamp(-most, most).to(dtype).float()
        return y, torch.tensor(1.0, dtype=torch.float32) / torch.tensor(scale, dtype=torch.float32)

    def step(self):
        for name, amax in self.amax.items():
            past = self.history.setdefault(name, [])
            past.append(amax)
            dtype = self.gradients if name.endswith("dout") else E4M3
            largest = max(past)
            if self.updates and 0 < largest < float("inf"):
                self.scale[name] = float(torch.tensor(torch.finfo(dtype).max) / torch.tensor(largest))
        self.amax = {}


class Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b, scaling, name):
        rows = x.flatten(0, -2)
        x8, sx = scaling.cast(name + ".x", rows, E4M3)
        w8, sw = scaling.cast(name + ".w", w, E4M3)
        ctx.save_for_backward(x8, w8)
        ctx.scales, ctx.scaling, ctx.name, ctx.shape = (sx, sw), scaling, name, x.shape
        out = (x8 @ w8) * (sx * sw) + b.float()
        return out.to(x.dtype).unflatten(0, x.shape[:-1])

    @staticmethod
    def backward(ctx, dout):
        x8, w8 = ctx.saved_tensors
        sx, sw = ctx.scales
        rows = dout.flatten(0, -2)
        d8, sd = ctx.scaling.cast(ctx.name + ".dout", rows, ctx.scaling.gradients)
        dx = ((d8 @ w8.T) * (sd * sw)).to(dout.dtype).view(ctx.shape)
        dw = ((x8.T @ d8) * (sx * sd)).to(dout.dtype)
        return dx, dw, rows.float().sum(0).to(dout.dtype), None, None


def gpt2_loss(p, batch, scaling):
    plain = make_gpt2.conv1d
    if scaling:
        make_gpt2.conv1d = lambda p, name, x: Linear.apply(x, p[name + ".weight"], p[name + ".bias"], scaling, name)
    try:
        logits = make_gpt2.logits(p, batch[0])
    finally:
        make_gpt2.conv1d = plain
    return F.cross_entropy(logits.float().flatten(0, 1), batch[1].flatten())


def mlp_loss(p, batch, scaling):
    """Weights are (out, in)."""
    x, y = (t.to(torch.bfloat16) for t in batch)
    last = len(make_mlp.CONFIG["dims"]) - 2
    for i in range(last + 1):
        w, b = p[f"layers.{i}.weight"], p[f"layers.{i}.bias"]
        x = Linear.apply(x, w.T, b, scaling, str(i)) if scaling else F.linear(x, w, b)
        x = x if i == last else x.relu()
    return F.mse_loss(x.float(), y.float())


def train(loss, init, batches, scaling, parts=1, dtype=torch.bfloat16):
    master = golden.to_params(init, torch.float32)
    opt = torch.optim.AdamW(master.values(), **golden.ADAMW)
    losses, norms = [], []
    for batch in batches[:STEPS]:
        total = 0.0
        opt.zero_grad()
        for p in master.values():
            p.grad = torch.zeros_like(p)
        for part in zip(*(t.chunk(parts) for t in batch)):
            params = {n: p.detach().to(torch.bfloat16).to(dtype).requires_grad_() for n, p in master.items()}
            value = loss(params, part, scaling) / parts
            value.backward()
            total += value.item()
            for n, p in params.items():
                master[n].grad += p.grad.float()
        norms.append(golden.global_norm(master))
        if scaling:
            scaling.step()
        opt.step()
        losses.append(total)
    return {"losses": losses, "norms": norms}


def write(folder, loss, init, batches, more):
    runs = {"fp8": train(loss, init, batches, Scaling()), "halves": train(loss, init, batches, Scaling(), 2), **more,
            "bf16": train(loss, init, batches, None), "scales_of_1": train(loss, init, batches, Scaling(updates=False)),
            "gradients_e4m3": train(loss, init, batches, Scaling(gradients=E4M3))}
    golden.write_json(folder / "fp8.json", {"made_with": golden.made_with("make_fp8.py"), **runs})
    for name, run in runs.items():
        print(f"{name:15}", " ".join(f"{v:.4f}" for v in run["losses"]), "|", " ".join(f"{v:.4f}" for v in run["norms"]))


def main():
    golden.setup()
    folder = golden.folder_of(__file__, "gpt2_odd")
    init = load_file(folder / "init.safetensors")
    tokens = np.frombuffer((folder / "tokens.bin").read_bytes()[1024:], dtype="<u2")
    batches = golden.token_batches(tokens, make_gpt2.SEQ)
    wide = train(gpt2_loss, init, batches, Scaling(), dtype=torch.float32)
    write(folder, gpt2_loss, init, batches, {"wide": wide})
    folder = golden.folder_of(__file__, "mlp")
    data = load_file(folder / "data.safetensors")
    batches = list(zip(*(torch.from_numpy(data[n]).split(golden.GLOBAL_BATCH) for n in ("inputs", "targets"))))
    write(folder, mlp_loss, load_file(folder / "init.safetensors"), batches, {})


if __name__ == "__main__":
    main()
