"""Kernels of a block under eager PyTorch, forward and backward, beside those that the kernel set torch-eager counts.

What PyTorch launches are the calls that its dispatcher makes for a block of transformers' own models on a CPU, views and
whatever makes less than a number for each token excepted: of 4 blocks less those of 2, halved. A GPU has two kernels more for a
LayerNorm's backward, which torch-eager counts. The names of both sides stand below each other, so that a difference shows.

    pip install torch transformers; python3 tests/peers/eager_kernels.py build/release/bin/shardlab [MODEL ...]
"""
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten
from transformers import AutoConfig, AutoModelForCausalLM

B, T, FEW, MANY = 2, 64, 2, 4
VIEWS = {"view", "_unsafe_view", "t", "transpose", "permute", "expand", "unsqueeze", "squeeze", "slice", "select", "detach", "alias",
         "split", "split_with_sizes", "as_strided", "unbind", "reshape", "_reshape_alias", "chunk", "empty", "empty_like", "new_empty"}
LLAMA = {"hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 640, "vocab_size": 100,
         "max_position_embeddings": 64, "tie_word_embeddings": False}
CONFIGS = {
    "gpt2": {"n_embd": 256, "n_head": 4, "vocab_size": 100, "n_positions": 64, "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0},
    "llama": LLAMA, "qwen3": dict(LLAMA, head_dim=64), "phi": LLAMA,
    "gpt_neox": {key: value for key, value in LLAMA.items() if key != "num_key_value_heads"},
    "opt": {"hidden_size": 256, "num_attention_heads": 4, "ffn_dim": 640, "vocab_size": 100, "max_position_embeddings": 64,
            "word_embed_proj_dim": 256, "dropout": 0.0, "attention_dropout": 0.0},
}


class Calls(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.count = collections.Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        name = func._schema.name.split("::")[1]
        made = [t.numel() for t in tree_flatten(out)[0] if isinstance(t, torch.Tensor)]
        self.count[name] += name not in VIEWS and max(made, default=0) >= B * T
        return out


def config_of(name, blocks):
    return {"model_type": name, "n_layer" if name == "gpt2" else "num_hidden_layers": blocks, **CONFIGS[name]}


def torch_calls(name, blocks, dtype):
    config = AutoConfig.for_model(**config_of(name, blocks), bos_token_id=None, eos_token_id=None, pad_token_id=None)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa", dtype=dtype).train()
    ids = torch.randint(0, 90, (B, T))
    with Calls() as calls:
        model(input_ids=ids, labels=ids, use_cache=False).loss.backward()
    return calls.count


def own_kernels(shardlab, name, blocks, dtype):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.json"
        path.write_text(json.dumps(config_of(name, blocks)))
        text = subprocess.run([shardlab, "show", "program", "--model", path, "--preset", "ddp", "--kernels", "torch-eager", "--dtype", dtype,
                               "--cluster", "dgx-h100", "--seq", str(T), "--micro-batch", str(B)], capture_output=True, text=True, check=True).stdout
    count = collections.Counter()
    for action, op, shape in re.findall(r"compute\[\d+\]\s+(\S+)\s+(\S+) \(([\dx ]*)\)", text):
        if "STEP" not in action:
            count[op] += int(shape.split(" x ")[1]) if op == "pass" else 1
    return count


def of_a_block(few, many):
    return {name: (many[name] - few[name]) / (MANY - FEW) for name in many if many[name] != few[name]}


def main():
    for name in sys.argv[2:] or CONFIGS:
        for dtype, own in ((torch.bfloat16, "bf16"), (torch.float32, "fp32")):
            theirs = of_a_block(*(torch_calls(name, n, dtype) for n in (FEW, MANY)))
            ours = of_a_block(*(own_kernels(sys.argv[1], name, n, own) for n in (FEW, MANY)))
            casts = ours.pop("copy", 0)  # of gradients to fp32, which a model in bf16 alone has not
            print(f"{name} {own}: torch {sum(theirs.values()):.0f}, torch-eager {sum(ours.values()):.0f} and {casts:.0f} casts of gradients")
            for side in (theirs, ours):
                print("   ", ", ".join(f"{count:.0f} {op}" for op, count in sorted(side.items(), key=lambda item: -item[1])))


if __name__ == "__main__":
    main()
