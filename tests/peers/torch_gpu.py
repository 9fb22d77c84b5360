"""GPT-2 or Llama in PyTorch on one GPU, as fast as plain PyTorch goes: torch.compile, bf16, fused AdamW,
scaled_dot_product_attention. It trains on the tokens that `shardlab measure --data FILE` trains on, in the file's order, and
pads the vocabulary as nanoGPT and llm.c do. Prints one JSON object with the median step time and, for scale, the rate of a
large bf16 product on random data in the same process.

    python3 torch_gpu.py --model gpt2 --data examples/corpus.txt --batch 8 --seq 1024 --steps 20
"""
import argparse
import array
import json
import pathlib
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc, self.out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):  # (B,T,C)
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.qkv(self.ln_1(x)).split(c, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.out(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, vocab, positions, width, layers, heads):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(positions, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        nn.init.normal_(self.wte.weight, std=0.02)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]).float(), targets.view(-1))


def turned(x, cos, sin):
    """Rotary positions, as Llama of transformers turns its halves."""
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


class LlamaBlock(nn.Module):
    def __init__(self, width, inner, heads, key_heads):
        super().__init__()
        self.heads, self.key_heads, self.head = heads, key_heads, width // heads
        self.norm_1, self.norm_2 = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
        self.qkv = nn.Linear(width, (heads + 2 * key_heads) * self.head, bias=False)
        self.proj, self.gate_up = nn.Linear(width, width, bias=False), nn.Linear(width, 2 * inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x, cos, sin):  # (B,T,C)
        b, t, c = x.shape
        sizes = [n * self.head for n in (self.heads, self.key_heads, self.key_heads)]
        q, k, v = (y.view(b, t, -1, self.head).transpose(1, 2) for y in self.qkv(self.norm_1(x)).split(sizes, 2))
        q, k = turned(q, cos, sin), turned(k, cos, sin)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.heads > self.key_heads)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        gate, up = self.gate_up(self.norm_2(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Llama(nn.Module):
    def __init__(self, vocab, positions, width, layers, heads, key_heads, inner):
        super().__init__()
        self.wte, self.head = nn.Embedding(vocab, width), nn.Linear(width, vocab, bias=False)
        self.blocks = nn.ModuleList(LlamaBlock(width, inner, heads, key_heads) for _ in range(layers))
        self.norm = nn.RMSNorm(width, eps=1e-5)
        nn.init.normal_(self.wte.weight, std=0.02)
        dim = width // heads
        angles = torch.arange(positions)[:, None] / 10000.0 ** (torch.arange(0, dim, 2) / dim)
        both = torch.cat((angles, angles), -1)
        self.register_buffer("cos", both.cos().bfloat16(), persistent=False)
        self.register_buffer("sin", both.sin().bfloat16(), persistent=False)

    def forward(self, tokens, targets):
        x = self.wte(tokens)
        t = tokens.shape[1]
        for block in self.blocks:
            x = block(x, self.cos[:t], self.sin[:t])
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]).float(), targets.view(-1))


# The sizes of transformers' gpt2 and gpt2-xl, and of TinyLlama 1.1B, as experiments/validate_gpu measures them.
MODELS = {
    "gpt2": (Gpt2, 50257, {"width": 768, "layers": 12, "heads": 12}),
    "gpt2-xl": (Gpt2, 50257, {"width": 1600, "layers": 48, "heads": 25}),
    "llama-1b": (Llama, 32000, {"width": 2048, "layers": 22, "heads": 32, "key_heads": 4, "inner": 5632}),
}


HEADER_BYTES = 1024
SHARDS = {20240520: "H", 20240801: "I"}  # llm.c's: uint16 for GPT-2, uint32 for Llama 3


def tokens_of(path):
    """A shard of llm.c's, or a text file with one token a byte (core/io/data.h)."""
    raw = pathlib.Path(path).read_bytes()
    kind = SHARDS.get(int.from_bytes(raw[:4], "little"))
    if kind is None:
        return torch.frombuffer(bytearray(raw), dtype=torch.uint8).long()
    return torch.tensor(array.array(kind, raw[HEADER_BYTES:]), dtype=torch.int64)


def batches(tokens, batch, seq):
    """Sequence i is tokens [i seq, i seq + seq), its targets the same shifted by one; batches take them in order, and again."""
    count, first = (len(tokens) - 1) // seq, 0
    while True:
        starts = (torch.arange(first, first + batch) % count) * seq
        both = tokens[starts[:, None] + torch.arange(seq + 1)].cuda()
        yield both[:, :-1].contiguous(), both[:, 1:].contiguous()
        first += batch


def gemm_tflops(n=8192, repeats=10):
    a, b = (torch.randn(n, n, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    times = []
    for _ in range(3 + repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        a @ b
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return 2 * n**3 / statistics.median(times[3:]) / 1e9


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", choices=MODELS, default="gpt2")
    p.add_argument("--data", required=True)
    p.add_argument("--pad-vocabulary-to", type=int, default=128, metavar="N", help="a multiple of N; 1: as it is")
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--seq", type=int, default=1024)
    p.add_argument("--steps", type=int, default=20)
    p.add_argument("--no-compile", action="store_true")
    p.add_argument("--json", help="file to write; default: standard output")
    args = p.parse_args()
    torch.manual_seed(4711)
    torch.set_float32_matmul_precision("high")
    multiple = args.pad_vocabulary_to
    kind, tokens, sizes = MODELS[args.model]
    vocabulary = -(-tokens // multiple) * multiple
    model = kind(vocabulary, max(args.seq, 1024), **sizes).cuda()
    step_model = model if args.no_compile else torch.compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    times = []
    source = batches(tokens_of(args.data), args.batch, args.seq)
    for _ in range(5 + args.steps):  # compilation and warm-up fall into the first five
        tokens, targets = next(source)
        torch.cuda.synchronize()
        start = time.perf_counter()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = step_model(tokens, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    step_s = statistics.median(times[5:])
    result = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name(), "model": args.model, "batch": args.batch, "seq": args.seq,
              "compiled": not args.no_compile, "vocabulary": vocabulary, "step_s": step_s, "step_times_s": times[5:],
              "loss": loss.item(), "tokens_per_s": args.batch * args.seq / step_s, "peak_bytes": torch.cuda.max_memory_allocated(),
              "gemm_tflops": gemm_tflops()}
    text = json.dumps(result, indent=1)
    if args.json:
        with open(args.json, "w") as f:
            f.write(text)
    print(f"step {1e3 * step_s:.2f} ms, {result['tokens_per_s']:.0f} tokens/s" if args.json else text)


if __name__ == "__main__":
    main()
