"""Golden values of a Llama with odd sizes and grouped queries: writes llama_odd/ (see README.md).

    python make_llama.py              # rewrite the files
    python make_llama.py --check-hf   # compare this Llama with transformers' LlamaForCausalLM; writes nothing

Checked with transformers 5.23.0 on torch 2.15.0 (eager attention): in fp32 logits and all 21 gradients equal theirs to
8e-7 of each tensor's largest value. There is no fp64 check: transformers computes RMSNorm and the rotary angles in fp32
whatever the model's type.
"""
import sys

import numpy as np
import torch
import torch.nn.functional as F

import golden

SEQ = 17
CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "attention_bias": False,
    "attention_dropout": 0.0,
    "head_dim": 8,
    "hidden_act": "silu",
    "hidden_size": 48,
    "initializer_range": 0.02,
    "intermediate_size": 97,
    "max_position_embeddings": 19,
    "mlp_bias": False,
    "num_attention_heads": 6,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-05,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "vocab_size": 67,
    "bos_token_id": 65,
    "eos_token_id": 66,
}


def make_init(rng, c):
    n, d = c["hidden_size"], c["head_dim"]
    heads, kv = c["num_attention_heads"], c["num_key_value_heads"]
    init = {"embed_tokens.weight": golden.weight(rng, c["vocab_size"], n, std=0.08)}

    def norm(name):
        init[name + ".weight"] = golden.weight(rng, n, std=0.1, mean=1.0)

    def linear(name, n_in, n_out):
        init[name + ".weight"] = golden.weight(rng, n_out, n_in, std=0.08)

    for i in range(c["num_hidden_layers"]):
        norm(f"layers.{i}.input_layernorm")
        linear(f"layers.{i}.self_attn.q_proj", n, heads * d)
        linear(f"layers.{i}.self_attn.k_proj", n, kv * d)
        linear(f"layers.{i}.self_attn.v_proj", n, kv * d)
        linear(f"layers.{i}.self_attn.o_proj", heads * d, n)
        norm(f"layers.{i}.post_attention_layernorm")
        linear(f"layers.{i}.mlp.gate_proj", n, c["intermediate_size"])
        linear(f"layers.{i}.mlp.up_proj", n, c["intermediate_size"])
        linear(f"layers.{i}.mlp.down_proj", c["intermediate_size"], n)
    norm("norm")
    linear("lm_head", n, c["vocab_size"])
    return init


def norm(p, name, x):
    return p[name + ".weight"] * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + CONFIG["rms_norm_eps"]))


def linear(p, name, x):
    return x @ p[name + ".weight"].T


def rotate(x):
    """Rotary position embedding of x (B,H,T,D): dimension i < D/2 pairs with i + D/2 and turns by t theta^(-2i/D)."""
    T, D = x.shape[2:]
    inverse = 1.0 / CONFIG["rope_theta"] ** (torch.arange(0, D, 2, dtype=x.dtype) / D)
    angle = torch.outer(torch.arange(T, dtype=x.dtype), inverse)  # (T, D/2)
    cos, sin = angle.cos(), angle.sin()
    a, b = x[..., : D // 2], x[..., D // 2 :]
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


def attention(p, name, x):
    B, T, _ = x.shape
    H, KV, D = CONFIG["num_attention_heads"], CONFIG["num_key_value_heads"], CONFIG["head_dim"]
    q = rotate(linear(p, name + ".q_proj", x).view(B, T, H, D).transpose(1, 2))
    k = rotate(linear(p, name + ".k_proj", x).view(B, T, KV, D).transpose(1, 2))
    v = linear(p, name + ".v_proj", x).view(B, T, KV, D).transpose(1, 2)
    k, v = (t.repeat_interleave(H // KV, dim=1) for t in (k, v))  # query head h reads key/value head h / (H / KV)
    score = (q @ k.transpose(2, 3)) / D**0.5
    future = torch.ones(T, T, dtype=torch.bool).triu(1)
    y = score.masked_fill(future, float("-inf")).softmax(dim=3) @ v
    return linear(p, name + ".o_proj", y.transpose(1, 2).reshape(B, T, H * D))


def mlp(p, name, x):
    return linear(p, name + ".down_proj", F.silu(linear(p, name + ".gate_proj", x)) * linear(p, name + ".up_proj", x))


def logits(p, tokens):
    x = p["embed_tokens.weight"][tokens]
    for i in range(CONFIG["num_hidden_layers"]):
        x = x + attention(p, f"layers.{i}.self_attn", norm(p, f"layers.{i}.input_layernorm", x))
        x = x + mlp(p, f"layers.{i}.mlp", norm(p, f"layers.{i}.post_attention_layernorm", x))
    return linear(p, "lm_head", norm(p, "norm", x))


def loss(p, batch):
    tokens, targets = batch
    return F.cross_entropy(logits(p, tokens).flatten(0, 1), targets.flatten())


def check_hf(init, batch):
    import transformers

    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**CONFIG, attn_implementation="eager"))
    theirs_name = {n: n if n.startswith("lm_head") else "model." + n for n in init}
    model.load_state_dict({theirs_name[n]: torch.from_numpy(a) for n, a in init.items()}, strict=True)
    model.train()
    theirs = model(batch[0]).logits
    F.cross_entropy(theirs.flatten(0, 1), batch[1].flatten()).backward()
    ours = golden.to_params(init, torch.float32)
    loss(ours, batch).backward()
    golden.compare_with({"logits": theirs.detach()}, {"logits": logits(ours, batch[0]).detach()}, "logits")
    grads = dict(model.named_parameters())
    theirs = {n: grads[t].grad for n, t in theirs_name.items()}
    golden.compare_with(theirs, {n: p.grad for n, p in ours.items()}, "gradients")
    print("transformers", transformers.__version__)


def main():
    golden.setup()
    rng = np.random.RandomState(20240801)
    init = make_init(rng, CONFIG)
    tokens = golden.make_tokens(rng, CONFIG["vocab_size"], golden.STEPS * golden.GLOBAL_BATCH * SEQ + 1)
    batches = golden.token_batches(tokens, SEQ)
    if "--check-hf" in sys.argv[1:]:
        return check_hf(init, batches[0])
    folder = golden.folder_of(__file__, "llama_odd")
    golden.write_json(folder / "config.json", CONFIG)
    golden.write_shard(folder / "tokens.bin", tokens)
    golden.write_all(folder, "make_llama.py", init, loss, batches, {"seq_len": SEQ}, {"seq_len": SEQ})


if __name__ == "__main__":
    main()
