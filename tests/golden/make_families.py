"""Golden values of every family of core/model beside gpt2, llama and mlp, by transformers: writes families/ (see README.md).

    python make_families.py [NAME ...]

Of each family a model of a few thousand parameters with odd sizes, which has what the family is known for: weights of a fixed
seed, five losses of AdamW and the gradients of the first step, in fp32, eager attention, dropout 0. Weights are drawn larger than
a family would start them, so that caps bend, windows matter and norms of any size do something.
"""
import json
import sys
import zlib

import numpy as np
import torch
import torch.nn.functional as F
import transformers
from safetensors.numpy import save_file

import golden

SEQ, STEPS, VOCAB = 19, 5, 37
ADAMW = {"lr": 2e-3, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1}
GQA = {"vocab_size": VOCAB, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
       "intermediate_size": 20, "max_position_embeddings": 64, "rms_norm_eps": 1e-5}
GEMMA = {**GQA, "head_dim": 8, "hidden_activation": "gelu_pytorch_tanh", "tie_word_embeddings": True}
MODELS = {
    "mistral": {"model_type": "mistral", **GQA, "head_dim": 8, "sliding_window": 5, "rope_theta": 1000.0},
    "llama_llama3": {"model_type": "llama", **GQA, "attention_bias": True, "mlp_bias": True,
                     "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                      "original_max_position_embeddings": 32}},
    "llama_linear": {"model_type": "llama", **GQA, "rope_scaling": {"rope_type": "linear", "factor": 3.0}},
    "llama_dynamic": {"model_type": "llama", **GQA, "rope_scaling": {"rope_type": "dynamic", "factor": 3.0}},
    "qwen2": {"model_type": "qwen2", **GQA, "use_sliding_window": True, "sliding_window": 6, "max_window_layers": 1,
              "tie_word_embeddings": True},
    "qwen2_yarn": {"model_type": "qwen2", **GQA, "rope_scaling": {"rope_type": "yarn", "factor": 4.0,
                                                                  "original_max_position_embeddings": 16}},
    "qwen3": {"model_type": "qwen3", **GQA, "head_dim": 10},
    "gemma": {"model_type": "gemma", **GEMMA, "num_key_value_heads": 1},
    "gemma2": {"model_type": "gemma2", **GEMMA, "sliding_window": 6, "query_pre_attn_scalar": 5, "attn_logit_softcapping": 2.0,
               "final_logit_softcapping": 3.0},
    "gemma3_text": {"model_type": "gemma3_text", **GEMMA, "num_hidden_layers": 3, "sliding_window": 6, "query_pre_attn_scalar": 5,
                    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"], "rope_theta": 5000.0,
                    "rope_local_base_freq": 100.0, "rope_scaling": {"rope_type": "linear", "factor": 8.0}},
    "phi3": {"model_type": "phi3", **GQA, "sliding_window": 7, "partial_rotary_factor": 0.67},
    "olmo2": {"model_type": "olmo2", **GQA},
    "olmo2_one_key": {"model_type": "olmo2", **GQA, "num_key_value_heads": 1},
    "starcoder2": {"model_type": "starcoder2", **{k: v for k, v in GQA.items() if k != "rms_norm_eps"}, "norm_epsilon": 1e-5,
                   "sliding_window": 5, "hidden_act": "gelu_pytorch_tanh"},
    "gpt_neox": {"model_type": "gpt_neox", "vocab_size": VOCAB, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 6,
                 "intermediate_size": 20, "max_position_embeddings": 64, "rotary_pct": 0.5, "hidden_act": "gelu"},
    "gptj": {"model_type": "gptj", "vocab_size": VOCAB, "n_positions": 64, "n_embd": 24, "n_layer": 2, "n_head": 6, "rotary_dim": 2,
             "n_inner": 20},
    "opt": {"model_type": "opt", "vocab_size": VOCAB, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 6, "ffn_dim": 20,
            "max_position_embeddings": 64, "dropout": 0.0, "word_embed_proj_dim": 24},
    "falcon": {"model_type": "falcon", "vocab_size": VOCAB, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3,
               "ffn_hidden_size": 20, "max_position_embeddings": 64},
    "falcon_new": {"model_type": "falcon", "vocab_size": VOCAB, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 6,
                   "num_kv_heads": 2, "new_decoder_architecture": True, "ffn_hidden_size": 20, "max_position_embeddings": 64,
                   "bias": True},
    "bloom": {"model_type": "bloom", "vocab_size": VOCAB, "hidden_size": 24, "n_layer": 2, "n_head": 6, "seq_length": 64},
    "mpt": {"model_type": "mpt", "vocab_size": VOCAB, "d_model": 24, "n_layers": 2, "n_heads": 6, "max_seq_len": 64},
}
# Models added later, whose seeds follow from their names.
NEMOTRON = {"model_type": "nemotron", **{k: v for k, v in GQA.items() if k != "rms_norm_eps"}, "norm_eps": 1e-5, "head_dim": 8}
BIGCODE = {"model_type": "gpt_bigcode", "vocab_size": VOCAB, "n_positions": 64, "n_embd": 24, "n_layer": 2, "n_head": 6, "n_inner": 20,
           "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0}
LATER = {
    "nemotron": NEMOTRON,
    "arcee": {"model_type": "arcee", **GQA, "attention_bias": True, "mlp_bias": True},
    "stablelm": {"model_type": "stablelm", **{k: v for k, v in GQA.items() if k != "rms_norm_eps"}, "layer_norm_eps": 1e-5,
                 "partial_rotary_factor": 0.34, "use_qkv_bias": True},
    "stablelm_parallel": {"model_type": "stablelm", **{k: v for k, v in GQA.items() if k != "rms_norm_eps"}, "layer_norm_eps": 1e-5,
                          "partial_rotary_factor": 0.67, "use_parallel_residual": True},
    "phi": {"model_type": "phi", **{k: v for k, v in GQA.items() if k != "rms_norm_eps"}, "layer_norm_eps": 1e-5,
            "partial_rotary_factor": 0.67},
    "gpt_bigcode": BIGCODE,
    "gpt_bigcode_heads": {**BIGCODE, "multi_query": False},
    "seed_oss": {"model_type": "seed_oss", **GQA, "head_dim": 10, "attention_dropout": 0.0, "residual_dropout": 0.0},
}
# The model of a family as Megatron-LM has it: the sizes and traits of its config.json, and its parts by megatron.core's names.
MEGATRON = {"model_type": "megatron", "vocab_size": VOCAB, "num_layers": 2, "hidden_size": 24, "max_position_embeddings": 64,
            "ffn_hidden_size": 20, "hidden_dropout": 0.0, "attention_dropout": 0.0}
AS_MEGATRON = {
    "megatron_nemotron": (NEMOTRON, {**MEGATRON, "num_attention_heads": 4, "num_query_groups": 2, "kv_channels": 8,
                                     "position_embedding_type": "rope", "rotary_percent": 0.5, "layernorm_zero_centered_gamma": True,
                                     "activation_func": "relu2", "add_bias_linear": False,
                                     "untie_embeddings_and_output_weights": True}),
    "megatron_groups": (BIGCODE, {**MEGATRON, "num_attention_heads": 6, "num_query_groups": 1}),
    "megatron_swiglu": ({**MODELS["qwen3"], "tie_word_embeddings": True},
                        {**MEGATRON, "num_attention_heads": 4, "num_query_groups": 2, "kv_channels": 10,
                         "position_embedding_type": "rope", "normalization": "RMSNorm", "qk_layernorm": True, "gated_linear_unit": True,
                         "activation_func": "silu", "add_bias_linear": False}),
}
ALL = [*MODELS, *LATER, *AS_MEGATRON]
SPECIAL = {"bos_token_id": None, "eos_token_id": None}
BASES = ("transformer.", "model.", "gpt_neox.")


def bare(name, family):
    """As published files have it: GPT-NeoX's head is embed_out there."""
    if family == "gpt_neox" and name.startswith("lm_head"):
        return name.replace("lm_head", "embed_out")
    return next((name[len(b):] for b in BASES if name.startswith(b)), name)


MEGATRON_NAMES = {"embed_tokens": "embedding.word_embeddings", "wte": "embedding.word_embeddings", "wpe": "embedding.position_embeddings",
                  "self_attn.o_proj": "self_attention.linear_proj", "attn.c_proj": "self_attention.linear_proj",
                  **{f"self_attn.{x}_proj": f"self_attention.linear_{x}" for x in "qkv"}, "attn.c_attn": "self_attention.linear_qkv",
                  "self_attn.q_norm": "self_attention.q_layernorm",
                  "self_attn.k_norm": "self_attention.k_layernorm", "ln_1": "input_layernorm", "ln_2": "pre_mlp_layernorm",
                  "post_attention_layernorm": "pre_mlp_layernorm", "mlp.up_proj": "mlp.linear_fc1", "mlp.c_fc": "mlp.linear_fc1",
                  "mlp.down_proj": "mlp.linear_fc2", "mlp.c_proj": "mlp.linear_fc2", "norm": "decoder.final_layernorm",
                  "ln_f": "decoder.final_layernorm", "lm_head": "output_layer"}


def as_megatron(tensors, groups):
    """q, k and v group by group in one weight, unless norms of q and k stand behind them; the gate ahead of the first product, and
    Megatron's names."""
    tensors, out = dict(tensors), {}
    normed = any("self_attn.q_norm" in n for n in tensors)
    for name in [n for n in tensors if "self_attn.q_proj" in n and not normed]:
        parts = [tensors.pop(name.replace("q_proj", p)) for p in ("q_proj", "k_proj", "v_proj")]
        rows = [a.reshape(groups, -1, *a.shape[1:]) for a in parts]
        out[name.replace("self_attn.q_proj", "self_attention.linear_qkv")] = np.concatenate(rows, 1).reshape(-1, *parts[0].shape[1:])
    for name in [n for n in tensors if "mlp.gate_proj" in n]:
        up = name.replace("gate_proj", "up_proj")
        tensors[up] = np.concatenate([tensors.pop(name), tensors[up]])
    out.update(tensors)

    def renamed(name):
        kind, name = ("gradient.", name[9:]) if name.startswith("gradient.") else ("", name)
        part, ending = name.rsplit(".", 1)
        words = part.split(".")
        layer = "decoder.layers." + words[1] + "." if words[0] in ("h", "layers") else ""
        part = ".".join(words[2:]) if layer else part
        return kind + layer + MEGATRON_NAMES.get(part, part) + "." + ending

    return {renamed(name): np.ascontiguousarray(a) for name, a in out.items()}


def new_model(config, rng):
    """Weights by name from our own generator: normal of 0.3, norms around what multiplies by 1."""
    model = transformers.AutoModelForCausalLM.from_config(
        transformers.AutoConfig.for_model(**{"pad_token_id": None, **SPECIAL, **config}), attn_implementation="eager")
    gemma = config["model_type"].startswith(("gemma", "nemotron"))
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            scale = golden.weight(rng, *p.shape, std=0.3)
            norm = p.dim() == 1 and name.endswith("weight")
            p.copy_(torch.from_numpy(scale + (1 if norm and not gemma else 0)))
    return model.float().train()


def make(name, tokens):
    folder = golden.folder_of(__file__, "families") / name
    folder.mkdir(exist_ok=True)
    config, written = AS_MEGATRON[name] if name in AS_MEGATRON else (MODELS.get(name) or LATER[name], None)
    seed = 20240900 + sorted(MODELS).index(name) if name in MODELS else zlib.crc32(name.encode())
    model = new_model(config, np.random.RandomState(seed))
    init = {bare(n, name): p.detach().numpy().copy() for n, p in model.named_parameters()}
    opt = torch.optim.AdamW(model.parameters(), **ADAMW)
    losses, gradients = [], None
    for x, y in golden.token_batches(tokens, SEQ)[:STEPS]:
        opt.zero_grad()
        loss = F.cross_entropy(model(x, use_cache=False).logits.flatten(0, 1), y.flatten())
        loss.backward()
        if gradients is None:
            gradients = {"gradient." + bare(n, name): p.grad.numpy().copy() for n, p in model.named_parameters()}
        opt.step()
        losses.append(loss.item())
    assert np.isfinite(losses).all()
    if written is not None:
        init, gradients = (as_megatron(t, written["num_query_groups"]) for t in (init, gradients))
    save_file(init, folder / "init.safetensors")
    save_file(gradients, folder / "grads.safetensors")
    golden.write_json(folder / "config.json", written or config)
    print(f"{name:18} {sum(a.size for a in init.values()):6} parameters, losses", " ".join(f"{v:.5f}" for v in losses), flush=True)
    return losses


def main():
    golden.setup()
    folder = golden.folder_of(__file__, "families")
    tokens = golden.make_tokens(np.random.RandomState(20240901), VOCAB, golden.STEPS * golden.GLOBAL_BATCH * SEQ + 1)
    golden.write_shard(folder / "tokens.bin", tokens)
    path = folder / "losses.json"
    known = json.loads(path.read_text())["losses"] if path.exists() else {}
    for name in sys.argv[1:] or ALL:
        known[name] = make(name, tokens)
    golden.write_json(path, {"made_with": {**golden.made_with("make_families.py"), "transformers": transformers.__version__},
                             "seq": SEQ, "losses": {n: known[n] for n in ALL if n in known}})
    golden.write_json(folder / "ds_adamw.json", {
        "train_batch_size": golden.GLOBAL_BATCH, "gradient_clipping": 0.0, "optimizer": {"type": "AdamW", "params": ADAMW},
        "zero_optimization": {"stage": 0}, "shardlab": {"shuffle": False, "seq_len": SEQ}})


if __name__ == "__main__":
    main()
