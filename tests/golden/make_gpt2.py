"""Golden values of a GPT-2 with odd sizes: writes gpt2_odd/ (see README.md).

    python make_gpt2.py              # rewrite the files
    python make_gpt2.py --check-hf   # compare this GPT-2 with transformers' GPT2LMHeadModel; writes nothing

Checked with transformers 5.23.0 on torch 2.15.0 (eager attention, dropout 0): in fp64 logits and all 40 gradients equal
theirs to 2e-15 of each tensor's largest value, in fp32 to 1.3e-6.
"""
import sys

import numpy as np
import torch
import torch.nn.functional as F

import golden

SEQ = 17
CONFIG = {
    "model_type": "gpt2",
    "architectures": ["GPT2LMHeadModel"],
    "activation_function": "gelu_new",
    "attn_pdrop": 0.0,
    "embd_pdrop": 0.0,
    "resid_pdrop": 0.0,
    "initializer_range": 0.02,
    "layer_norm_epsilon": 1e-05,
    "n_ctx": 19,
    "n_embd": 35,
    "n_head": 5,
    "n_inner": None,
    "n_layer": 3,
    "n_positions": 19,
    "scale_attn_weights": True,
    "tie_word_embeddings": True,
    "vocab_size": 61,
    "bos_token_id": 60,
    "eos_token_id": 60,
}


def make_init(rng, c):
    """Every tensor differs from its usual start (zeros, ones), so that each one matters to the loss."""
    n = c["n_embd"]
    init = {
        "wte.weight": golden.weight(rng, c["vocab_size"], n, std=0.08),
        "wpe.weight": golden.weight(rng, c["n_positions"], n, std=0.08),
    }

    def norm(name):
        init[name + ".weight"] = golden.weight(rng, n, std=0.1, mean=1.0)
        init[name + ".bias"] = golden.weight(rng, n, std=0.02)

    def conv1d(name, n_in, n_out):
        init[name + ".weight"] = golden.weight(rng, n_in, n_out, std=0.08)
        init[name + ".bias"] = golden.weight(rng, n_out, std=0.02)

    for i in range(c["n_layer"]):
        norm(f"h.{i}.ln_1")
        conv1d(f"h.{i}.attn.c_attn", n, 3 * n)
        conv1d(f"h.{i}.attn.c_proj", n, n)
        norm(f"h.{i}.ln_2")
        conv1d(f"h.{i}.mlp.c_fc", n, 4 * n)
        conv1d(f"h.{i}.mlp.c_proj", 4 * n, n)
    norm("ln_f")
    return init


def norm(p, name, x):
    return F.layer_norm(x, x.shape[-1:], p[name + ".weight"], p[name + ".bias"], CONFIG["layer_norm_epsilon"])


def conv1d(p, name, x):
    return x @ p[name + ".weight"] + p[name + ".bias"]


def attention(p, name, x):
    B, T, C = x.shape
    H = CONFIG["n_head"]
    q, k, v = (t.view(B, T, H, C // H).transpose(1, 2) for t in conv1d(p, name + ".c_attn", x).split(C, dim=2))
    score = (q @ k.transpose(2, 3)) / (C // H) ** 0.5  # (B,H,T,T)
    future = torch.ones(T, T, dtype=torch.bool).triu(1)
    y = score.masked_fill(future, float("-inf")).softmax(dim=3) @ v
    return conv1d(p, name + ".c_proj", y.transpose(1, 2).reshape(B, T, C))


def mlp(p, name, x):
    return conv1d(p, name + ".c_proj", F.gelu(conv1d(p, name + ".c_fc", x), approximate="tanh"))


def logits(p, tokens):
    x = p["wte.weight"][tokens] + p["wpe.weight"][: tokens.shape[1]]
    for i in range(CONFIG["n_layer"]):
        x = x + attention(p, f"h.{i}.attn", norm(p, f"h.{i}.ln_1", x))
        x = x + mlp(p, f"h.{i}.mlp", norm(p, f"h.{i}.ln_2", x))
    return norm(p, "ln_f", x) @ p["wte.weight"].T


def loss(p, batch):
    tokens, targets = batch
    return F.cross_entropy(logits(p, tokens).flatten(0, 1), targets.flatten())


def check_hf(init, batch):
    import transformers

    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**CONFIG, attn_implementation="eager"))
    missing = model.transformer.load_state_dict({n: torch.from_numpy(a) for n, a in init.items()}, strict=False)
    assert not missing.unexpected_keys and all(n.endswith("attn.bias") for n in missing.missing_keys), missing
    for dtype in (torch.float32, torch.float64):
        model.to(dtype).train().zero_grad()
        theirs = model(batch[0]).logits
        F.cross_entropy(theirs.flatten(0, 1), batch[1].flatten()).backward()
        ours = golden.to_params(init, dtype)
        loss(ours, batch).backward()
        golden.compare_with({"logits": theirs.detach()}, {"logits": logits(ours, batch[0]).detach()}, f"{dtype} logits")
        grads = {n: p.grad for n, p in model.transformer.named_parameters()}
        golden.compare_with(grads, {n: p.grad for n, p in ours.items()}, f"{dtype} gradients")
    print("transformers", transformers.__version__)


def main():
    golden.setup()
    rng = np.random.RandomState(20240531)
    init = make_init(rng, CONFIG)
    tokens = golden.make_tokens(rng, CONFIG["vocab_size"], golden.STEPS * golden.GLOBAL_BATCH * SEQ + 1)
    batches = golden.token_batches(tokens, SEQ)
    if "--check-hf" in sys.argv[1:]:
        return check_hf(init, batches[0])
    folder = golden.folder_of(__file__, "gpt2_odd")
    golden.write_json(folder / "config.json", CONFIG)
    golden.write_shard(folder / "tokens.bin", tokens)
    golden.write_all(folder, "make_gpt2.py", init, loss, batches, {"seq_len": SEQ}, {"seq_len": SEQ})


if __name__ == "__main__":
    main()
