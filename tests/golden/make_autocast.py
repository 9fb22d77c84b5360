"""PyTorch under torch.autocast("cpu", torch.bfloat16), with fp32 parameters: writes gpt2_odd/autocast.json and
llama_odd/autocast.json (see README.md).

    python make_autocast.py

The models, weights and batches of make_gpt2.py and make_llama.py. GPT-2's linear layers are torch.addmm, as in transformers'
Conv1D: a bias that is added outside of the product would be added in fp32. Rotary positions are computed in fp32, as
there. Of the first batch every gradient's distance from the fp64 one, in norm; of the runs with AdamW and SGD the losses.
"""
import numpy as np
import torch
from safetensors.numpy import load_file

import golden
import make_gpt2
import make_llama


def conv1d(p, name, x):
    y = torch.addmm(p[name + ".bias"], x.reshape(-1, x.shape[-1]), p[name + ".weight"])
    return y.view(*x.shape[:-1], -1)


def rotate_wide(rotate):
    return lambda x: rotate(x.float())


def under_autocast(loss):
    def run(params, batch):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return loss(params, batch)
    return run


def distances(init, batch, exact, loss):
    got = golden.gradients(init, loss, batch, torch.float32)
    error = sum(float(((got[n] - exact[n]) ** 2).sum()) for n in exact) ** 0.5
    norm = sum(float((exact[n] ** 2).sum()) for n in exact) ** 0.5
    return {"all": error / norm, "tensors": {n: golden.relative(got[n], exact[n]) for n in exact}}


def make(module, name):
    folder = golden.folder_of(__file__, name)
    init = load_file(folder / "init.safetensors")
    tokens = np.frombuffer((folder / "tokens.bin").read_bytes()[1024:], dtype="<u2")
    batches = golden.token_batches(tokens, module.SEQ)
    exact = {n: a.astype(np.float64) for n, a in load_file(folder / "grads_f64.safetensors").items()}
    loss = under_autocast(module.loss)
    out = {"made_with": golden.made_with("make_autocast.py"), "bf16": distances(init, batches[0], exact, loss)}
    for run in ("adamw_clip", "sgd_clip"):
        losses, norms, _ = golden.train(init, loss, batches, run, torch.float32)
        out["bf16"][run] = {"losses": losses, "grad_norms": norms}
    golden.write_json(folder / "autocast.json", out)
    print(name, out["bf16"]["all"], out["bf16"]["adamw_clip"]["losses"][-1])


def main():
    golden.setup()
    make_gpt2.conv1d = conv1d
    make_llama.rotate = rotate_wide(make_llama.rotate)
    make(make_gpt2, "gpt2_odd")
    make(make_llama, "llama_odd")


if __name__ == "__main__":
    main()
