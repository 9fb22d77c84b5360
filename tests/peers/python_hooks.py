"""How long the host takes for the hooks of DeepSpeed's ZeRO-3 and torch's FSDP: the source of host_hook_us in profiles/kernels.

Trains blocks too small for their arithmetic to count, plainly and in either way, on a CPU, in a process group that sends
nothing, so that what is left is Python: ZeRO-3's hooks of each module and each parameter, FSDP's of each wrapped block
(core/models/hooks.h). Blocks have more or fewer modules without parameters, and parameters; the fastest of 40 steps counts.
Prints microseconds a module and a parameter, forward and backward, what both come to for the 13 modules and 12 parameters
of a block of GPT-2, and microseconds a wrapped block.

    pip install torch deepspeed; python3 tests/peers/python_hooks.py
"""
import json
import logging
import os
import subprocess
import sys
import time

WIDTH, LAYERS, WORLD, STEPS = 32, 12, 16, 40
CASES = [(bias, idle) for bias in (True, False) for idle in (2, 12)]  # biases; modules without parameters


def blocks(bias, idle):
    from torch import nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = nn.ModuleList(nn.LayerNorm(WIDTH, bias=bias) for _ in range(2))
            self.products = nn.ModuleList(nn.Linear(WIDTH, WIDTH, bias=bias) for _ in range(4))
            self.idle = nn.ModuleList(nn.Identity() for _ in range(idle))

        def forward(self, x):
            for k, product in enumerate(self.products):
                x = x + product(self.norms[k // 2](x) if k % 2 == 0 else x)
            for module in self.idle:
                x = module(x)
            return x

    return nn.Sequential(*(Block() for _ in range(LAYERS))), Block


def by_deepspeed(model, stage):
    import deepspeed
    from deepspeed.accelerator import get_accelerator
    type(get_accelerator()).device_count = lambda self: 1  # its own asks numactl
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config={
        "train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": True},
        "optimizer": {"type": "Adam", "params": {"lr": 1e-4, "torch_adam": True}},
        "zero_optimization": {"stage": stage, "stage3_param_persistence_threshold": 0}})
    return engine, engine.backward, engine.step


def by_fsdp(model, block):
    import torch
    from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy
    model = FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({block}), device_id=torch.device("cpu"),
                                     mixed_precision=MixedPrecision(torch.bfloat16, torch.float32))
    return model, lambda loss: loss.backward(), model.zero_grad


def seconds_of(kind, bias, idle):
    """The fastest forward and backward."""
    os.environ.update(DS_ACCELERATOR="cpu", RANK="0", LOCAL_RANK="0", WORLD_SIZE=str(WORLD), LOCAL_WORLD_SIZE="1",
                      MASTER_ADDR="127.0.0.1", MASTER_PORT="29511")
    import torch
    from torch.testing._internal.distributed.fake_pg import FakeStore
    torch.set_num_threads(1)
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=WORLD)
    logging.disable(logging.WARNING)
    model, block = blocks(bias, idle)
    if kind == "plain":
        model = model.bfloat16()
        forward, backward, step = model, lambda loss: loss.backward(), model.zero_grad
    else:
        forward, backward, step = by_fsdp(model, block) if kind == "fsdp" else by_deepspeed(model, kind)
    x = torch.randn(1, 4, WIDTH, dtype=torch.bfloat16)
    best = [float("inf")] * 2
    for _ in range(STEPS):
        start = time.perf_counter()
        loss = forward(x).float().pow(2).mean()
        middle = time.perf_counter()
        backward(loss)
        end = time.perf_counter()
        step()
        best = [min(best[0], middle - start), min(best[1], end - middle)]
    return best


def run(*case):
    done = subprocess.run([sys.executable, __file__, json.dumps(case)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {case}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def more(plain, hooks):
    """Microseconds a block, forward and backward, that `hooks` takes longer."""
    return [(b - a) / LAYERS * 1e6 for a, b in zip(plain, hooks)]


def main():
    if len(sys.argv) > 1:
        print(json.dumps(seconds_of(*json.loads(sys.argv[1]))))
        return
    import numpy
    modules, extra = [], []
    for bias, idle in CASES:
        modules.append([1 + 6 + idle, 12 if bias else 6])  # the block, its norms and products; their tensors
        extra.append(more(run(0, bias, idle), run(3, bias, idle)))
    fit = numpy.linalg.lstsq(numpy.array(modules, float), numpy.array(extra), rcond=None)[0]
    unit = more(run("plain", *CASES[0]), run("fsdp", *CASES[0]))
    for name, (module, tensor), block in zip(("forward", "backward"), fit.T, unit):
        whole = 13 * module + 12 * tensor
        print(f"{name}: ZeRO-3 {module:.0f} us a module, {tensor:.0f} us a parameter, GPT-2's block {whole:.0f} us, "
              f"{whole / 25:.0f} us a hook; FSDP {block:.0f} us a wrapped block")


if __name__ == "__main__":
    main()
