"""Train the GPT-2 of torch_gpt2.py over two or more ranks by tensor or pipeline parallelism, as PyTorch offers them.

    python torch_parallel.py --mode tp --config config.json --init init.safetensors --data tokens.bin --batch 8 --world 2
    python torch_parallel.py --mode pp --micro-batches 4 ...

tp: DTensor, as Megatron-LM cuts: ColwiseParallel for query, key, value and the first MLP layer, RowwiseParallel after them,
embedding and head cut by vocabulary with loss_parallel. pp: torch.distributed.pipelining's Schedule1F1B; the tied embedding
lies at both ends, its gradients are summed. Over gloo, fp32, with the fused optimizer. Flags, data order, loss and output are
those of torch_gpt2.py.
"""
import copy
import json
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, loss_parallel, parallelize_module

import torch_gpt2 as gpt2


def linear_of(conv, rows=None):
    """nn.Linear from a Conv1D: parallelize_module knows no other; `rows` orders its outputs."""
    weight, bias = conv.weight.detach().t(), conv.bias.detach()
    if rows is not None:
        weight, bias = weight[rows], bias[rows]
    made = nn.Linear(weight.shape[1], weight.shape[0])
    made.weight = nn.Parameter(weight.contiguous().clone())
    made.bias = nn.Parameter(bias.clone())
    return made


class SplitAttention(nn.Module):
    """Attention over the heads of this rank: rows of c_attn are (head, q|k|v, head size), so that a cut cuts heads."""

    def __init__(self, whole):
        super().__init__()
        width = whole.c_proj.weight.shape[0]
        self.head = width // whole.n_head
        rows = torch.arange(3 * width).view(3, whole.n_head, self.head).transpose(0, 1).reshape(-1)
        self.c_attn, self.c_proj = linear_of(whole.c_attn, rows), linear_of(whole.c_proj)

    def forward(self, x):
        B, T, _ = x.shape
        q, k, v = self.c_attn(x).view(B, T, -1, 3, self.head).permute(3, 0, 2, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(B, T, -1))


class TensorParallel(nn.Module):
    def __init__(self, model, world):
        super().__init__()
        self.body, self.head = model, nn.Linear(*reversed(model.wte.weight.shape), bias=False)
        for block in model.h:
            block.attn = SplitAttention(block.attn)
            block.mlp.c_fc, block.mlp.c_proj = linear_of(block.mlp.c_fc), linear_of(block.mlp.c_proj)
        plan = {"body.wte": RowwiseParallel(input_layouts=Replicate()),
                "head": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False),
                "body.h.*.attn.c_attn": ColwiseParallel(), "body.h.*.attn.c_proj": RowwiseParallel(),
                "body.h.*.mlp.c_fc": ColwiseParallel(), "body.h.*.mlp.c_proj": RowwiseParallel()}
        parallelize_module(self, init_device_mesh("cpu", (world,)), plan)
        self.head.weight = model.wte.weight  # tied after the cut, which is the same for both

    def forward(self, tokens):  # (B,T) -> logits (B*T, vocabulary), cut by vocabulary
        body = self.body
        x = body.wte(tokens) + body.wpe.weight[: tokens.shape[1]]
        for block in body.h:
            x = block(x)
        return self.head(body.ln_f(x).flatten(0, 1))


class TensorTrainer:
    def __init__(self, a, model, rank, world):
        self.model = TensorParallel(model, world)
        cut = [p for p in self.model.parameters() if isinstance(p, torch.distributed.tensor.DTensor)]
        whole = [p for p in self.model.parameters() if not isinstance(p, torch.distributed.tensor.DTensor)]
        self.optimizer, _ = gpt2.make_optimizer(a, [{"params": cut}, {"params": whole}], fused=True)  # one kind a group

    def step(self, tokens, targets):
        self.optimizer.zero_grad(set_to_none=True)
        with loss_parallel():
            loss = F.cross_entropy(self.model(tokens), targets.flatten())
            loss.backward()
        self.optimizer.step()
        return loss.item()


class Stage(nn.Module):
    """Layers [lo, hi) of the model; the first stage embeds, the last has norm and head."""

    def __init__(self, model, lo, hi, first, last):
        super().__init__()
        self.h = nn.ModuleList(model.h[lo:hi])
        self.first, self.last = first, last
        if first or last:
            self.wte = copy.deepcopy(model.wte)
        if first:
            self.wpe = model.wpe
        if last:
            self.ln_f = model.ln_f

    def forward(self, x):  # tokens (B,T) or activations (B,T,C)
        if self.first:
            x = self.wte(x) + self.wpe.weight[: x.shape[1]]
        for block in self.h:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight) if self.last else x


class PipelineTrainer:
    def __init__(self, a, model, rank, world):
        layers = len(model.h)
        self.stage = Stage(model, layers * rank // world, layers * (rank + 1) // world, rank == 0, rank == world - 1)
        pipe = PipelineStage(self.stage, rank, world, torch.device("cpu"))
        self.schedule = Schedule1F1B(pipe, a.micro_batches,
                                     loss_fn=lambda out, targets: F.cross_entropy(out.flatten(0, 1), targets.flatten()))
        self.ends = dist.new_group([0, world - 1])
        self.last = world - 1
        self.optimizer, _ = gpt2.make_optimizer(a, self.stage.parameters(), fused=True)

    def step(self, tokens, targets):
        self.optimizer.zero_grad(set_to_none=True)
        losses = []
        if self.stage.first:
            self.schedule.step(tokens)
        elif self.stage.last:
            self.schedule.step(target=targets, losses=losses)
        else:
            self.schedule.step()
        if self.stage.first or self.stage.last:
            dist.all_reduce(self.stage.wte.weight.grad, group=self.ends)
        self.optimizer.step()
        return sum(loss.item() for loss in losses) / max(1, len(losses))


def train(a, rank, world):
    torch.set_num_threads(a.threads)
    torch.manual_seed(a.seed)  # the same initial weights on every rank
    c, tokens, model = gpt2.prepare(a)
    if any(c[name] for name in ("attn_pdrop", "embd_pdrop", "resid_pdrop")):
        sys.exit(f"{a.config}: dropout is not 0; ranks would draw other numbers than one rank does")
    if a.mode == "tp" and (c["n_head"] % world or c["vocab_size"] % world):
        sys.exit(f"{a.config}: {c['n_head']} heads, {c['vocab_size']} tokens; expected multiples of the {world} ranks")
    if a.mode == "pp" and c["n_layer"] < world:
        sys.exit(f"{a.config}: n_layer is {c['n_layer']}; expected at least one for each of the {world} ranks")
    trainer = (TensorTrainer if a.mode == "tp" else PipelineTrainer)(a, model, rank, world)
    losses, times = torch.zeros(a.steps, dtype=torch.float64), []
    for step in range(a.steps):
        batch = gpt2.batch_of(tokens, step, a, 0, 1)  # every rank reads the whole batch
        dist.barrier()
        start = time.perf_counter()
        losses[step] = trainer.step(*batch)
        times.append(time.perf_counter() - start)
    if a.mode == "pp":
        dist.broadcast(losses, world - 1)
    return gpt2.report(a, world, model, losses.tolist(), times)


def rank_main(rank, a, rendezvous):
    dist.init_process_group("gloo", init_method=rendezvous, rank=rank, world_size=a.world)
    result = train(a, rank, a.world)
    if rank == 0:
        print(json.dumps(result, indent=2), flush=True)
    dist.destroy_process_group()


def main():
    p = gpt2.parser(__doc__.split("\n")[0])
    p.add_argument("--mode", choices=("tp", "pp"), required=True)
    p.add_argument("--micro-batches", type=int, default=4, help="pp: of the global batch")
    a = gpt2.parse(p, sys.argv[1:])
    if a.world < 2:
        p.error(f"--world is {a.world}; expected at least 2")
    if a.mode == "pp" and a.batch % a.micro_batches:
        p.error(f"--batch {a.batch} is not a multiple of the {a.micro_batches} micro-batches")
    gpt2.launch(rank_main, a)


if __name__ == "__main__":
    main()
