"""How far PyTorch's own 16-bit gradients are from exact ones: writes gpt2_odd/half.json (see README.md).

    python make_bf16.py

The model, weights and first batch of make_gpt2.py; the whole model in one 16-bit type as model.bfloat16() or model.half()
makes it, fp16 with a static loss scale; every gradient's distance from the fp64 one, in norm. The initial weights are the fp32
ones, rounded by the conversion: that rounding is part of the distance, as it is for whoever trains in 16 bits.
"""

import numpy as np
import torch
from safetensors.numpy import load_file

import golden
import make_gpt2

LOSS_SCALE = 1024.0


def gradients(init, batch, dtype, scale):
    params = golden.to_params(init, dtype)
    (make_gpt2.loss(params, batch) * scale).backward()
    return {name: p.grad.double().numpy() / scale for name, p in params.items()}


def distances(init, batch, exact, dtype, scale):
    got = gradients(init, batch, dtype, scale)
    error = sum(float(((got[n] - exact[n]) ** 2).sum()) for n in exact) ** 0.5
    norm = sum(float((exact[n] ** 2).sum()) for n in exact) ** 0.5
    assert np.isfinite(error)
    return {"loss_scale": scale, "all": error / norm, "tensors": {n: golden.relative(got[n], exact[n]) for n in exact}}


def main():
    golden.setup()
    folder = golden.folder_of(__file__, "gpt2_odd")
    init = load_file(folder / "init.safetensors")
    tokens = np.frombuffer((folder / "tokens.bin").read_bytes()[1024:], dtype="<u2")
    batch = golden.token_batches(tokens, make_gpt2.SEQ)[0]
    exact = gradients(init, batch, torch.float64, 1.0)
    out = {"made_with": golden.made_with("make_bf16.py"),
           "bf16": distances(init, batch, exact, torch.bfloat16, 1.0),
           "fp16": distances(init, batch, exact, torch.float16, LOSS_SCALE)}
    golden.write_json(folder / "half.json", out)
    for t in ("bf16", "fp16"):
        print(t, out[t]["all"], "tensors", min(out[t]["tensors"].values()), max(out[t]["tensors"].values()))


if __name__ == "__main__":
    main()
