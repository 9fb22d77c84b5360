"""Bytes that PyTorch's autograd keeps of a block under torch.autocast: writes autocast_saved.json (see README.md).

    python make_saved.py

The blocks of transformers, whose eager code is written out here: modeling_llama.py (LlamaRMSNorm, apply_rotary_pos_emb with cos
and sin in the type of hidden_states, LlamaMLP) and modeling_gpt2.py (Conv1D, NewGELUActivation). Counted on a CPU are the
storages of saved tensors, parameters excepted, of two blocks less those of one. Of CUDA's lists of ops (ATen/autocast_mode.h)
the CPU's lack pow, whose input is therefore cast here.
"""
import math
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

import golden

B, T, WIDTH, HEADS, INNER = 2, 64, 64, 4, 160


class RMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        given = x.dtype
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * x.to(given)


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def attend(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, T, WIDTH)


def heads_of(x):
    return x.view(B, T, HEADS, WIDTH // HEADS).transpose(1, 2)


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_1, self.norm_2 = RMSNorm(), RMSNorm()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(WIDTH, INNER, bias=False) for _ in range(2))
        self.down = nn.Linear(INNER, WIDTH, bias=False)

    def forward(self, x, cos, sin):
        normed = self.norm_1(x)
        q, k, v = (heads_of(part(normed)) for part in (self.q, self.k, self.v))
        q, k = (y * cos + rotate_half(y) * sin for y in (q, k))
        x = x + self.o(attend(q, k, v))
        normed = self.norm_2(x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


class Conv1D(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight, self.bias = nn.Parameter(0.02 * torch.randn(n_in, n_out)), nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        return torch.addmm(self.bias, x.view(-1, x.shape[-1]), self.weight).view(*x.shape[:-1], -1)


def gelu_new(x):
    cube = torch.pow(x.float(), 3.0)
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * cube)))


class Gpt2(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attn, self.proj = Conv1D(WIDTH, 3 * WIDTH), Conv1D(WIDTH, WIDTH)
        self.fc, self.out = Conv1D(WIDTH, INNER), Conv1D(INNER, WIDTH)

    def forward(self, x, cos, sin):
        q, k, v = (heads_of(part) for part in self.attn(self.ln_1(x)).split(WIDTH, dim=2))
        x = x + self.proj(attend(q, k, v))
        return x + self.out(gelu_new(self.fc(self.ln_2(x))))


def saved_bytes(block, layers):
    blocks = nn.ModuleList(block() for _ in range(layers))
    angles = [torch.randn(T, WIDTH // HEADS) for _ in range(2)]
    known = {t.untyped_storage().data_ptr() for t in [*blocks.parameters(), *angles]}
    saved = {}

    def pack(t):
        saved[t.untyped_storage().data_ptr()] = t
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t), torch.autocast("cpu", dtype=torch.bfloat16):
        x = torch.randn(B, T, WIDTH)
        for each in blocks:
            x = each(x, *angles)
    return sum(t.untyped_storage().nbytes() for at, t in saved.items() if at not in known)


def main():
    golden.setup()
    out = {"made_with": golden.made_with("make_saved.py"), "batch": B, "seq": T, "width": WIDTH, "heads": HEADS, "inner": INNER}
    for name, block in (("llama", Llama), ("gpt2", Gpt2)):
        out[name] = saved_bytes(block, 2) - saved_bytes(block, 1)
        print(name, out[name])
    golden.write_json(Path(__file__).parent / "autocast_saved.json", out)


if __name__ == "__main__":
    main()
