"""Train a GPT-2 with PyTorch on the CPU, to lay its losses and step times beside ours.

    python torch_gpt2.py --config config.json --batch 8 --seq 256 --steps 10 --world 2 --optimizer adamw

One rank is plain PyTorch; more are DistributedDataParallel over gloo. The program starts its own ranks, or joins those of a
launcher that sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. Rank 0 prints one JSON object. The data order and the loss
are ours without shuffling: step s takes sequences s B .. (s+1) B, modulo their number, a rank takes its contiguous share,
and the loss is the mean over the global batch, before the update.
"""
import argparse
import json
import os
import resource
import statistics
import sys
import tempfile
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

SHARDS = {20240520: "<u2", 20240801: "<u4"}  # llm.c's magic numbers and token types
OPTIMIZERS = {  # DeepSpeed's type, lower case: torch's class, and what we take where a config is silent
    "adamw": (torch.optim.AdamW, {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0}),
    "sgd": (torch.optim.SGD, {"lr": 1e-3, "momentum": 0.0, "weight_decay": 0.0}),
}


class Conv1D(nn.Module):
    """Linear layer whose weight is (in, out), as Hugging Face's GPT-2 keeps it."""

    def __init__(self, n_in, n_out, std):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_in, n_out) * std)
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x):  # (B,T,in) -> (B,T,out)
        return torch.addmm(self.bias, x.flatten(0, 1), self.weight).view(*x.shape[:2], -1)


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        n, std = c["n_embd"], c["initializer_range"]
        self.n_head, self.p = c["n_head"], c["attn_pdrop"]
        self.c_attn = Conv1D(n, 3 * n, std)
        self.c_proj = Conv1D(n, n, std / (2 * c["n_layer"]) ** 0.5)
        self.drop = nn.Dropout(c["resid_pdrop"])

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, self.n_head, -1).transpose(1, 2) for t in self.c_attn(x).split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.p if self.training else 0.0, is_causal=True)
        return self.drop(self.c_proj(y.transpose(1, 2).reshape(B, T, C)))


class MLP(nn.Module):
    def __init__(self, c):
        super().__init__()
        n, std = c["n_embd"], c["initializer_range"]
        inner = c["n_inner"] or 4 * n
        self.c_fc = Conv1D(n, inner, std)
        self.c_proj = Conv1D(inner, n, std / (2 * c["n_layer"]) ** 0.5)
        self.drop = nn.Dropout(c["resid_pdrop"])

    def forward(self, x):
        return self.drop(self.c_proj(F.gelu(self.c_fc(x), approximate="tanh")))


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.ln_1 = nn.LayerNorm(c["n_embd"], eps=c["layer_norm_epsilon"])
        self.attn = Attention(c)
        self.ln_2 = nn.LayerNorm(c["n_embd"], eps=c["layer_norm_epsilon"])
        self.mlp = MLP(c)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT2(nn.Module):
    """Parameters carry Hugging Face's names without the "transformer." prefix; the head is tied to wte."""

    def __init__(self, c):
        super().__init__()
        self.wte = nn.Embedding(c["vocab_size"], c["n_embd"])
        self.wpe = nn.Embedding(c["n_positions"], c["n_embd"])
        nn.init.normal_(self.wte.weight, std=c["initializer_range"])
        nn.init.normal_(self.wpe.weight, std=c["initializer_range"])
        self.drop = nn.Dropout(c["embd_pdrop"])
        self.h = nn.ModuleList(Block(c) for _ in range(c["n_layer"]))
        self.ln_f = nn.LayerNorm(c["n_embd"], eps=c["layer_norm_epsilon"])

    def forward(self, tokens, targets):  # both (B,T); returns the mean loss
        x = self.drop(self.wte(tokens) + self.wpe.weight[: tokens.shape[1]])
        for block in self.h:
            x = block(x)
        return F.cross_entropy(F.linear(self.ln_f(x), self.wte.weight).flatten(0, 1), targets.flatten())


def read_config(path):
    with open(path) as f:
        given = json.load(f)
    if given.get("model_type") != "gpt2":
        sys.exit(f"{path}: model_type is {given.get('model_type')!r}; expected 'gpt2'")
    defaults = {"n_inner": None, "initializer_range": 0.02, "layer_norm_epsilon": 1e-5, "attn_pdrop": 0.1,
                "embd_pdrop": 0.1, "resid_pdrop": 0.1, "vocab_size": 50257, "n_positions": 1024, "n_embd": 768,
                "n_layer": 12, "n_head": 12}
    return {**defaults, **given}


def read_tokens(path, vocab_size, seed, count):
    """A shard of llm.c, any other file as bytes, or without a file `count` random tokens."""
    if path is None:
        return np.random.RandomState(seed).randint(vocab_size, size=count)
    head = np.fromfile(path, dtype="<i4", count=1)
    magic = int(head[0]) if len(head) else 0
    tokens = np.fromfile(path, dtype=SHARDS[magic], offset=1024) if magic in SHARDS else np.fromfile(path, dtype=np.uint8)
    if tokens.max() >= vocab_size:
        sys.exit(f"{path}: holds token {tokens.max()}; the model's vocab_size is {vocab_size}")
    return tokens.astype(np.int64)


def batch_of(tokens, step, a, rank, world):
    """This rank's (tokens, targets) of a step, each (B / world, T)."""
    share = a.batch // world
    sequences = (np.arange(share) + step * a.batch + rank * share) % ((len(tokens) - 1) // a.seq)
    at = sequences[:, None] * a.seq + np.arange(a.seq + 1)
    both = torch.from_numpy(tokens[at])
    return both[:, :-1].contiguous(), both[:, 1:].contiguous()


def make_optimizer(a, parameters, **more):
    """The optimizer and the norm to clip to (0 = off), from --ds-config or else --optimizer and --lr; `more` goes to torch."""
    kind, params, clip = a.optimizer, {}, 0.0
    if a.ds_config:
        with open(a.ds_config) as f:
            ds = json.load(f)
        kind, params = ds["optimizer"]["type"].lower(), ds["optimizer"].get("params", {})
        clip = ds.get("gradient_clipping", 0.0)
    if kind not in OPTIMIZERS:
        sys.exit(f"optimizer is {kind!r}; expected one of {', '.join(OPTIMIZERS)}")
    torch_class, defaults = OPTIMIZERS[kind]
    if a.lr is not None:
        params = {**params, "lr": a.lr}
    return torch_class(parameters, **{**defaults, **params, **more}), clip


def prepare(a):
    """The model's config, the tokens, and the model with its initial weights; --seed has been planted."""
    c = read_config(a.config)
    if a.seq > c["n_positions"]:
        sys.exit(f"--seq is {a.seq}; the model's n_positions is {c['n_positions']}")
    tokens = read_tokens(a.data, c["vocab_size"], a.seed, a.batch * a.seq * a.steps + 1)
    if len(tokens) <= a.seq:
        sys.exit(f"{a.data}: {len(tokens)} tokens; expected more than --seq {a.seq}")
    model = GPT2(c)
    if a.init:
        from safetensors.torch import load_file

        model.load_state_dict(load_file(a.init))
    return c, tokens, model


def train(a, rank, world):
    torch.set_num_threads(a.threads)
    torch.manual_seed(a.seed)  # the same initial weights on every rank
    _, tokens, model = prepare(a)
    torch.manual_seed(a.seed + 1 + rank)  # dropout differs between ranks
    run = nn.parallel.DistributedDataParallel(model) if world > 1 else model
    optimizer, clip = make_optimizer(a, model.parameters())
    losses, times = torch.zeros(a.steps, dtype=torch.float64), []
    for step in range(a.steps):
        batch = batch_of(tokens, step, a, rank, world)
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = run(*batch)
        loss.backward()
        if clip > 0:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        times.append(time.perf_counter() - start)
        losses[step] = loss.item()
    if world > 1:
        dist.all_reduce(losses)
    return report(a, world, model, (losses / world).tolist(), times)


def report(a, world, model, losses, times):
    """step_time_s leaves the first step out (allocation, DDP's buckets) where there are others."""
    median = statistics.median(times[1:] or times)
    return {
        "torch_version": torch.__version__,
        "world": world,
        "threads": a.threads,
        "parameters": sum(p.numel() for p in model.parameters()),
        "step_time_s": median,
        "step_times_s": times,
        "tokens_per_s": a.batch * a.seq / median,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "losses": losses,
    }


def rank_main(rank, a, rendezvous):
    if a.world > 1:
        dist.init_process_group("gloo", init_method=rendezvous, rank=rank, world_size=a.world)
    result = train(a, rank, a.world)
    if rank == 0:
        print(json.dumps(result, indent=2), flush=True)
    if a.world > 1:
        dist.destroy_process_group()


def launch(rank_main, a):
    """Run rank_main(rank, a, where ranks meet) on every rank: start them, or be one of a launcher's."""
    if "RANK" in os.environ:
        rank_main(int(os.environ["RANK"]), a, "env://")
    elif a.world == 1:
        rank_main(0, a, None)
    else:
        with tempfile.TemporaryDirectory() as folder:  # ranks meet in a file: no port to collide on
            torch.multiprocessing.spawn(rank_main, args=(a, f"file://{folder}/rendezvous"), nprocs=a.world)


def parser(about):
    p = argparse.ArgumentParser(description=about)
    p.add_argument("--config", required=True, help="Hugging Face config.json of a gpt2")
    p.add_argument("--batch", type=int, default=8, help="sequences of the global batch")
    p.add_argument("--seq", type=int, default=128, help="tokens of a sequence")
    p.add_argument("--steps", type=int, default=10)
    p.add_argument("--world", type=int, default=1, help="ranks to start; a launcher's WORLD_SIZE takes precedence")
    p.add_argument("--threads", type=int, default=0, help="threads of a rank; 0: cores / ranks")
    p.add_argument("--optimizer", choices=sorted(OPTIMIZERS), default="adamw")
    p.add_argument("--lr", type=float, help="learning rate, over the config's")
    p.add_argument("--ds-config", help="take optimizer, parameters and gradient_clipping from this DeepSpeed config")
    p.add_argument("--data", help="token shard of llm.c, or any file as bytes; default: random tokens")
    p.add_argument("--init", help="safetensors with initial weights; default: random")
    p.add_argument("--seed", type=int, default=1234)
    return p


def parse(p, argv):
    a = p.parse_args(argv)
    a.world = int(os.environ.get("WORLD_SIZE", a.world))
    for name in ("batch", "seq", "steps", "world"):
        if getattr(a, name) < 1:
            p.error(f"--{name} is {getattr(a, name)}; expected at least 1")
    if a.threads < 1:
        a.threads = max(1, len(os.sched_getaffinity(0)) // a.world)
    return a


def main():
    p = parser(__doc__.split("\n")[0])
    a = parse(p, sys.argv[1:])
    if a.batch % a.world:
        p.error(f"--batch {a.batch} is not a multiple of the {a.world} ranks")
    launch(rank_main, a)


if __name__ == "__main__":
    main()
