"""Bytes that PyTorch's autograd keeps of a block of transformers' own models, and the most that a step of them needs: writes
transformers_kept.json and transformers_peaks.json (see README.md).

    python make_kept.py

Counted on a CPU are the storages of saved tensors, parameters and buffers excepted, of the models of families/ with more
blocks less those with fewer. A GPU keeps the same but for four things, which are taken into account here:
  - LayerNorm's statistics are fp32 there, whatever the type of its input.
  - Flash attention writes its output in the order of q, there as here; but fp32 and masks go to a kernel that writes (tokens,
    heads), where the next product needs no copy. So what concatenates a rotated part of a head with the rest (JOINED) is
    counted in 16 bits and without a window alone.
  - torch.autocast casts the cube of transformers' own GELU to fp32 (pow is on CUDA's list, not on the CPU's). So models with
    that are not counted under autocast; nor is Falcon's own linear layer with a bias, which it adds apart.
  - Tensors of fewer numbers than there are tokens are left out: 1 + weight, and scalars.
Left out is GPT-J, which casts q and k to fp32; that is not predicted. Of compiled models those with as many heads of keys as
of queries are transformers'; the other is torchtitan's block, written out here.

The peak is that of the bytes of all storages that a forward and backward has alive, with gradient checkpointing, parameters and
gradients included, each storage in whole blocks of 512 bytes. JOINED are counted in 16 bits alone, as above.
"""
import collections
import contextlib
import json
import weakref
from pathlib import Path

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts
from transformers import AutoConfig, AutoModelForCausalLM

import golden

B, T = 2, 64
HERE = Path(__file__).parent
LEFT_OUT = ("gptj",)
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


def without_none(config):
    return {key: value for key, value in config.items() if value is not None}


def bytes_of(t):
    fp32_on_gpu = t.numel() == B * T and t.dtype == torch.bfloat16
    return 0 if t.numel() < B * T else t.untyped_storage().nbytes() * (2 if fp32_on_gpu else 1)


def counts(config, type_name, attention):
    """Is this what a GPU would keep, and what is predicted?"""
    gelu = AutoConfig.for_model(**config).to_dict()
    own_linear = config["model_type"] == "falcon" and config.get("bias", False)
    if type_name == "autocast" and (attention != "flash" or own_linear or "gelu_new" in gelu.values()):
        return False
    return config["model_type"] not in JOINED or attention != "flash" or type_name != "fp32"


def saved_bytes(forward, held):
    """What autograd saves of a forward, `held` excepted. The tensors stay alive until all are counted: no address is taken twice."""
    known, saved = {t.untyped_storage().data_ptr() for t in held}, {}

    def pack(t):
        saved[t.untyped_storage().data_ptr()] = t
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        out = forward()
    assert out.requires_grad
    return sum(bytes_of(t) for at, t in saved.items() if at not in known)


def kept_bytes(config, type_name, attention, compiles=False):
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**config), attn_implementation=attention, dtype=TYPES[type_name]).train()
    held = [*model.parameters(), *model.buffers()]
    if compiles:
        torch._dynamo.reset()
        model = torch.compile(model, backend=DIVIDES)
    ids = torch.randint(0, config["vocab_size"], (B, T))
    autocast = torch.autocast("cpu", torch.bfloat16) if type_name == "autocast" else contextlib.nullcontext()
    with autocast:
        return saved_bytes(lambda: model(input_ids=ids, labels=ids, use_cache=False).loss, held)


def of_a_model(config):
    few, more = with_layers(config, 2), with_layers(config, 4)
    out = {"few": without_none(few), "more": without_none(more), "shardlab": {"kernels": "torch-eager"}, "bytes": {}}
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


# ---- compiled blocks ----

class RMSNorm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(COMPILED["hidden_size"]))

    def forward(self, x):
        return torch.nn.functional.rms_norm(x, x.shape[-1:], self.weight, 1e-5)


class Block(torch.nn.Module):
    """A block of torchtitan's Llama: rotation by complex numbers, keys and values repeated for every query head."""

    def __init__(self):
        super().__init__()
        width, inner = COMPILED["hidden_size"], COMPILED["intermediate_size"]
        self.heads, self.kv_heads = COMPILED["num_attention_heads"], COMPILED["num_key_value_heads"]
        self.head = width // self.heads
        self.norm_1, self.norm_2 = RMSNorm(), RMSNorm()
        sizes = {"q": (width, width), "k": (width, self.kv_heads * self.head), "v": (width, self.kv_heads * self.head), "o": (width, width),
                 "gate": (width, inner), "up": (width, inner), "down": (inner, width)}
        for name, (n_in, n_out) in sizes.items():
            setattr(self, name, torch.nn.Linear(n_in, n_out, bias=False))

    def turned(self, x, angles):
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * angles).flatten(3).type_as(x)

    def repeated(self, x):
        each = self.heads // self.kv_heads
        return x[:, :, :, None, :].expand(B, T, self.kv_heads, each, self.head).reshape(B, T, self.heads, self.head)

    def forward(self, x, angles):
        normed = self.norm_1(x)
        q, k, v = (part(normed).view(B, T, -1, self.head) for part in (self.q, self.k, self.v))
        q, k, v = self.turned(q, angles), self.repeated(self.turned(k, angles)), self.repeated(v)
        out = torch.nn.functional.scaled_dot_product_attention(*(y.transpose(1, 2) for y in (q, k, v)), is_causal=True)
        x = x + self.o(out.transpose(1, 2).contiguous().view(B, T, -1))
        normed = self.norm_2(x)
        return x + self.down(torch.nn.functional.silu(self.gate(normed)) * self.up(normed))


DIVIDES = "aot_eager_decomp_partition"  # what torch.compile divides into forward and backward; kernels would not change it
COMPILED = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 160,
            "vocab_size": 100, "max_position_embeddings": T}


def blocks_of_titan(count):
    modules = torch.nn.ModuleList(Block() for _ in range(count)).to(torch.bfloat16)
    half = modules[0].head // 2
    return modules, torch.polar(torch.ones(T, 1, half), torch.randn(T, 1, half))


def compiled_bytes(blocks):
    torch._dynamo.reset()
    modules, angles = blocks_of_titan(blocks)
    x = torch.randn(B, T, COMPILED["hidden_size"], dtype=torch.bfloat16, requires_grad=True)

    def forward():
        out = x
        for module in modules:
            out = torch.compile(module, backend=DIVIDES, fullgraph=True)(out, angles)
        return out

    return saved_bytes(forward, [*modules.parameters(), angles])


def of_compiled(config):
    """config None: torchtitan's block."""
    few, more = (with_layers(config or dict(COMPILED, num_hidden_layers=0), n) for n in (2, 4))
    sizes = [kept_bytes(c, "bf16", "sdpa", True) for c in (few, more)] if config else [compiled_bytes(n) for n in (2, 4)]
    return {"few": without_none(few), "more": without_none(more), "shardlab": {"kernels": "torch-compile"}, "bytes": {"bf16 flash": sizes[1] - sizes[0]}}


# ---- peaks ----

class Alive(TorchDispatchMode):
    """Counts the storages that ops make, until they are freed."""

    def __init__(self, known):
        super().__init__()
        self.bytes = self.peak = 0
        self.known = {t.untyped_storage()._cdata for t in known}

    def free(self, key, size):
        self.bytes -= size
        self.known.discard(key)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for t in tree_flatten(out)[0]:
            if not isinstance(t, torch.Tensor) or t.untyped_storage()._cdata in self.known:
                continue
            storage, size = t.untyped_storage(), blocks_of(t)
            self.known.add(storage._cdata)
            self.bytes += size
            self.peak = max(self.peak, self.bytes)
            weakref.finalize(storage, self.free, storage._cdata, size)
        return out


def recomputed_by_op():
    """torchtitan's activation checkpointing by op (distributed/activation_checkpoint.py): attention and every other product."""
    products = collections.Counter()

    def policy(context, func, *_, **__):
        product = func == torch.ops.aten.mm.default
        products[context.is_recompute] += product
        saves = products[context.is_recompute] % 2 == 1 if product else func == ATTENTION_OF_CPU
        return CheckpointPolicy.MUST_SAVE if saves else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)


ATTENTION_OF_CPU = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default


def selective_bytes(blocks):
    modules, angles = blocks_of_titan(blocks)
    alive = Alive([*modules.parameters(), angles])
    x = torch.randn(B, T, COMPILED["hidden_size"], dtype=torch.bfloat16, requires_grad=True)
    with alive:
        for module in modules:
            x = checkpoint(module, x, angles, use_reentrant=False, context_fn=recomputed_by_op)
        return alive.bytes


def blocks_of(t):
    return -(-t.untyped_storage().nbytes() // 512) * 512


def peak_bytes(config, type_name):
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**config), attn_implementation="sdpa", dtype=TYPES[type_name]).train()
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    ids = torch.randint(0, config["vocab_size"], (PEAK_B, PEAK_T))
    alive = Alive([*model.parameters(), *model.buffers()])
    with alive:
        for _ in range(2):  # as in every step but the first
            alive.peak = alive.bytes
            model(input_ids=ids, labels=ids, use_cache=False).loss.backward()
            model.zero_grad(set_to_none=True)
    return alive.peak + sum(blocks_of(p) for p in model.parameters())


PEAK_B, PEAK_T = 4, 256
SIZES = {"vocab_size": 1000, "hidden_size": 256, "num_hidden_layers": 6, "num_attention_heads": 8, "max_position_embeddings": 512,
         "tie_word_embeddings": False}
GATED = dict(SIZES, num_key_value_heads=2, intermediate_size=704)
PEAKS = {  # model: its types
    "llama": (GATED, ["fp32", "bf16"]), "qwen3": (dict(GATED, head_dim=32), ["fp32", "bf16"]),
    "gemma": (dict(GATED, head_dim=32), ["fp32", "bf16"]), "olmo2": (GATED, ["fp32", "bf16"]), "arcee": (GATED, ["fp32"]),
    "phi3": (dict(GATED, pad_token_id=0), ["bf16"]), "phi": (GATED, ["bf16"]), "stablelm": (GATED, ["bf16"]),
    "gpt_neox": (dict(SIZES, intermediate_size=1024), ["bf16"]),
    "opt": (dict(SIZES, ffn_dim=1024, word_embed_proj_dim=256, dropout=0.0), ["fp32", "bf16"]),
    "gpt2": ({"vocab_size": 1000, "n_embd": 256, "n_layer": 6, "n_head": 8, "n_positions": 512, "attn_pdrop": 0.0, "embd_pdrop": 0.0,
              "resid_pdrop": 0.0}, ["fp32", "bf16"]),
}


def write_peaks():
    out = {"made_with": golden.made_with("make_kept.py"), "batch": PEAK_B, "seq": PEAK_T, "models": {}}
    for name, (sizes, types) in PEAKS.items():
        config = dict(sizes, model_type=name)
        none = dict(config, bos_token_id=None, eos_token_id=None, pad_token_id=None)
        out["models"][name] = {"model": config, "bytes": {each: peak_bytes(none, each) for each in types}}
        print(name, out["models"][name]["bytes"], flush=True)
    golden.write_json(HERE / "transformers_peaks.json", out)


def main():
    golden.setup()
    write_peaks()
    out = {"made_with": golden.made_with("make_kept.py"), "batch": B, "seq": T, "models": {}}
    configs = {path.parent.name: json.loads(path.read_text()) for path in sorted(HERE.glob("families/*/config.json"))}
    for name, config in {**GPT2S, **configs}.items():
        if config["model_type"] == "megatron" or name in LEFT_OUT:
            continue
        out["models"][name] = of_a_model(config)
        print(name, out["models"][name]["bytes"], flush=True)
    compiled = {"llama": None, "opt": configs["opt"], **{name: c for name, c in GPT2S.items() if name != "gpt2_relu"}}
    for name, config in compiled.items():
        out["models"]["compiled " + name] = of_compiled(config)
        print("compiled", name, out["models"]["compiled " + name]["bytes"], flush=True)
    few, more = (with_layers(dict(COMPILED, num_hidden_layers=0), n) for n in (2, 4))
    out["models"]["llama by op"] = {
        "few": without_none(few), "more": without_none(more),
        "shardlab": {"kernels": "torch-eager", "recompute": "selective_op"},
        "bytes": {"bf16 flash": selective_bytes(4) - selective_bytes(2)}}
    print("by op", out["models"]["llama by op"]["bytes"])
    golden.write_json(HERE / "transformers_kept.json", out)


if __name__ == "__main__":
    main()
