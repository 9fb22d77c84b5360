"""Bytes that PyTorch's autograd keeps of a block of transformers' own models: writes transformers_kept.json (see README.md).

    python make_kept.py

Counted on a CPU are the storages of saved tensors, parameters and buffers excepted, of the models of families/ with more
blocks less those with fewer. A GPU keeps the same but for four things, which are taken into account here:
  - LayerNorm's statistics are fp32 there, whatever the type of its input.
  - Flash attention writes its output in the order of q, there as here; but fp32 and masks go to a kernel that writes (tokens,
    heads), where the next product needs no copy. So what concatenates a rotated part of a head with the rest (JOINED) is
    counted in 16 bits and without a window alone.
  - torch.autocast casts the cube of transformers' own GELU to fp32 (pow is on CUDA's list, not on the CPU's). So models with
    that are not counted under autocast.
  - Tensors of fewer numbers than there are tokens are left out: 1 + weight, and scalars.
Left out are models of which what is predicted is known to differ: Falcon, which has a mask always, GPT-J, which casts q and k to
fp32, and Qwen 3 under autocast, whose norms of q and k scale in 16 bits.
"""
import contextlib
import json
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM

import golden

B, T = 2, 64
HERE = Path(__file__).parent
LEFT_OUT = ("falcon", "falcon_new", "gptj")
JOINED = ("gpt_neox", "nemotron", "phi", "phi3", "stablelm")
GPT2 = {"model_type": "gpt2", "n_embd": 24, "n_layer": 2, "n_head": 6, "n_inner": 20, "n_positions": 64, "vocab_size": 37,
        "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0}
GPT2S = {f"gpt2_{act}": dict(GPT2, activation_function=act) for act in ("gelu_new", "gelu_pytorch_tanh", "gelu", "relu")}
LAYERS = ("num_hidden_layers", "n_layer", "n_layers")
TYPES = {"bf16": torch.bfloat16, "fp32": torch.float32, "autocast": torch.float32}
ATTENTIONS = {"flash": "sdpa", "materialised": "eager"}


def with_layers(config, layers):
    config = dict(config, bos_token_id=None, eos_token_id=None, pad_token_id=None)
    config[next(key for key in LAYERS if key in config)] = layers
    if "layer_types" in config:
        config["layer_types"] = (config["layer_types"] * layers)[:layers]
    if config["model_type"] in JOINED:
        config.pop("sliding_window", None)
    return config


def bytes_of(t):
    fp32_on_gpu = t.numel() == B * T and t.dtype == torch.bfloat16
    return 0 if t.numel() < B * T else t.untyped_storage().nbytes() * (2 if fp32_on_gpu else 1)


def counts(config, type_name, attention):
    """Is this what a GPU would keep, and what is predicted?"""
    gelu = AutoConfig.for_model(**config).to_dict()
    if type_name == "autocast" and (attention != "flash" or config["model_type"] == "qwen3" or "gelu_new" in gelu.values()):
        return False
    return config["model_type"] not in JOINED or attention != "flash" or type_name != "fp32"


def kept_bytes(config, type_name, attention):
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**config), attn_implementation=attention, dtype=TYPES[type_name]).train()
    known = {t.untyped_storage().data_ptr() for t in [*model.parameters(), *model.buffers()]}
    saved = {}

    def pack(t):
        saved[t.untyped_storage().data_ptr()] = t
        return t

    ids = torch.randint(0, config["vocab_size"], (B, T))
    autocast = torch.autocast("cpu", torch.bfloat16) if type_name == "autocast" else contextlib.nullcontext()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t), autocast:
        outputs = model(input_ids=ids, labels=ids, use_cache=False)  # which holds the graph until all is counted
    assert outputs.loss.requires_grad
    return sum(bytes_of(t) for at, t in saved.items() if at not in known)


def of_a_model(config):
    few, more = with_layers(config, 2), with_layers(config, 4)
    out = {**{k: {key: v for key, v in c.items() if v is not None} for k, c in (("few", few), ("more", more))}, "bytes": {}}
    for name in TYPES:
        for attention, implementation in ATTENTIONS.items():
            if not counts(few, name, attention):
                continue
            try:
                both = [kept_bytes(c, name, implementation) for c in (few, more)]
            except ValueError:  # it has no scaled_dot_product_attention
                continue
            out["bytes"][f"{name} {attention}"] = both[1] - both[0]
    return out


def main():
    golden.setup()
    out = {"made_with": golden.made_with("make_kept.py"), "batch": B, "seq": T, "models": {}}
    configs = {path.parent.name: json.loads(path.read_text()) for path in sorted(HERE.glob("families/*/config.json"))}
    for name, config in {**GPT2S, **configs}.items():
        if config["model_type"] == "megatron" or name in LEFT_OUT:
            continue
        out["models"][name] = of_a_model(config)
        print(name, out["models"][name]["bytes"], flush=True)
    golden.write_json(HERE / "transformers_kept.json", out)


if __name__ == "__main__":
    main()
