"""What torchtitan's own code asks PyTorch's allocator for, without a GPU: torchtitan_memory.py CHECKOUT [--help]

Builds one rank of Llama 3 405B (other sizes by flags) from a checkout of torchtitan of December 2024 (3f20451bc), under torch 2.6 on a CPU: tensor
parallelism over 8 ranks, FSDP2 over --dp, a pipeline of --pp, a process group that sends nothing. All sizes are divided by --scale, so bytes
are by its square. Trains three steps, and plays every request for memory, multiplied back, through the rules of the caching allocator with
expandable segments, a pool for each stream; temporary memory that only a CPU's products need is left out. Prints GiB: the most that tensors
need at once and what is reserved, both without the parameters' shards, which are made before. --compile compiles the blocks (minutes). Needs
torch 2.6, NumPy and tomli; nothing that builds or tests shardlab needs this.
"""
import argparse
import bisect
import contextlib
import copy
import importlib
import json
import sys
import tempfile
import types

GIB, PAGE, SMALL = 2**30, 20 * 2**20, 2**20


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("checkout")
    for name, default in (("pp", 8), ("pp-rank", 1), ("dp", 8), ("layers", 126), ("dim", 16384), ("heads", 64), ("kv-heads", 8), ("ffn-multiple", 4096),
                          ("vocab", 128256), ("micro-batch", 4), ("micro-batches", 8), ("seq", 8192), ("scale", 32)):
        p.add_argument("--" + name, type=int, default=default)
    p.add_argument("--ffn-multiplier", type=float, default=1.2)
    p.add_argument("--schedule", choices=("1f1b", "interleaved"), default="1f1b")
    p.add_argument("--compile", action="store_true")
    return p.parse_args()


# ---- a CPU in place of a GPU ----

class Event:
    def __init__(self, *_, **__):
        pass

    def nothing(self, *_):
        return True

    record = wait = query = synchronize = nothing


class Stream:
    count = 0

    def __init__(self, *_, **__):
        Stream.count += 1
        self.number = Stream.count

    def record_event(self, *_):
        return Event()

    def nothing(self, *_):
        return True

    wait_event = wait_stream = synchronize = query = nothing


def pretend_streams(torch):
    """Memory that is allocated in another stream's context is marked in the profile."""
    main = Stream()
    main.number = 0
    torch.cpu.Stream, torch.cpu.Event, torch.cpu.current_stream = Stream, Event, lambda *_: main
    torch.cpu.stream = lambda stream: torch.profiler.record_function(f"STREAM{stream.number}") if stream.number else contextlib.nullcontext()


class AnyDecorator(types.ModuleType):
    """triton, which finds no driver here; torchtitan's fused norm is not used."""
    constexpr = int

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return AnyDecorator(name)

    def __call__(self, *args, **_):
        return args[0] if len(args) == 1 and isinstance(args[0], types.FunctionType) else (lambda f: f)


@contextlib.contextmanager
def no_triton():
    names = ("triton", "triton.language")
    kept = {name: sys.modules.pop(name, None) for name in names}
    sys.modules.update({name: AnyDecorator(name) for name in names})
    yield
    for name in names:
        del sys.modules[name]
        if kept[name] is not None:
            sys.modules[name] = kept[name]


# ---- a rank of torchtitan ----

def cut(layers, stages):
    """First layers of all stages but the first, as torchtitan's generate_split_points deals them."""
    least, more = divmod(layers, stages)
    at, splits = 0, []
    for i in range(stages - 1):
        at += least + (1 if 0 < i <= more else 0)
        splits.append(at)
    return splits


def build(a, torch):
    """The rank's stages, each a model and, in a pipeline, its PipelineStage."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.pipelining import PipelineStage
    with no_triton():
        from torchtitan.models.llama.model import ModelArgs, Transformer
        parallel = importlib.import_module("torchtitan.parallelisms.parallelize_llama")  # the package has a function of that name
    tp, n = 8, a.pp * (2 if a.schedule == "interleaved" else 1)
    mesh = init_device_mesh("cpu", (a.pp, a.dp, tp), mesh_dim_names=("pp", "dp", "tp"))
    even = a.dp * tp
    args = ModelArgs(dim=a.dim // a.scale, n_layers=a.layers, n_heads=a.heads, n_kv_heads=a.kv_heads, ffn_dim_multiplier=a.ffn_multiplier,
                     multiple_of=max(8, a.ffn_multiple // a.scale), rope_theta=500000, vocab_size=-(-a.vocab // a.scale // even) * even,
                     max_seq_len=a.seq // a.scale, norm_type="rmsnorm")
    with torch.device("meta"):
        whole = Transformer(args)
    bounds, parts = [0, *cut(a.layers, n), a.layers], []
    recompute = types.SimpleNamespace(mode="full", selective_ac_option="op")
    for index in range(a.pp_rank, n, a.pp):
        model = copy.deepcopy(whole)
        for name in list(model.layers):
            if not bounds[index] <= int(name) < bounds[index + 1]:
                del model.layers[name]
        if index > 0:
            model.tok_embeddings = None
        if index < n - 1:
            model.norm = model.output = None
        parallel.apply_tp(model, mesh["tp"], loss_parallel=True, enable_float8=False, enable_async_tp=False)
        parallel.apply_ac(model, recompute)
        if a.compile:
            parallel.apply_compile(model)
        parallel.apply_fsdp(model, mesh["dp"], torch.bfloat16, torch.float32, pp_enabled=a.pp > 1)
        model.to_empty(device="cpu")
        with torch.no_grad():
            model.init_weights(buffer_device=None)
        model.train()
        stage = None
        if a.pp > 1:
            tokens = a.seq // a.scale

            def like(*shape, dtype=torch.bfloat16):
                return torch.empty(shape, dtype=dtype, device="meta", requires_grad=dtype.is_floating_point)
            hidden = like(a.micro_batch, tokens // tp, args.dim)
            given = like(a.micro_batch, tokens, dtype=torch.int64) if index == 0 else hidden
            made = hidden if index < n - 1 else like(a.micro_batch, tokens, args.vocab_size // tp)
            stage = PipelineStage(model, index, n, torch.device("cpu"), input_args=(given,), output_args=(made,), group=mesh["pp"].get_group())
            stage._validate_fwd_outputs = stage._validate_fwd_input = lambda *_: None  # logits are a DTensor
        parts.append((model, stage))
    return args, parts


def train(a, torch, args, parts, steps):
    from torch.distributed.pipelining.schedules import Schedule1F1B, ScheduleInterleaved1F1B
    from torch.distributed.tensor.parallel import loss_parallel

    def loss_of(prediction, labels):
        return torch.nn.functional.cross_entropy(prediction.flatten(0, 1).float(), labels.flatten(0, 1))
    optimizers = [torch.optim.AdamW(model.parameters(), lr=1e-5, foreach=True) for model, _ in parts]
    stages = [stage for _, stage in parts]
    if a.pp > 1 and a.schedule == "1f1b":
        schedule = Schedule1F1B(stages[0], n_microbatches=a.micro_batches, loss_fn=loss_of)
    elif a.pp > 1:
        schedule = ScheduleInterleaved1F1B(stages, n_microbatches=a.micro_batches, loss_fn=loss_of)
    shape = (a.micro_batch * (a.micro_batches if a.pp > 1 else 1), a.seq // a.scale)
    for _ in range(steps):
        for optimizer in optimizers:
            optimizer.zero_grad()
        tokens, labels = torch.randint(0, args.vocab_size, shape), torch.randint(0, args.vocab_size, shape)
        with loss_parallel():
            if a.pp == 1:
                prediction = parts[0][0](tokens)
                loss = loss_of(prediction, labels)
                del prediction
                loss.backward()
            elif a.pp_rank == 0:
                schedule.step(tokens)
            elif a.pp_rank == a.pp - 1:
                schedule.step(target=labels, losses=[])
            else:
                schedule.step()
        for optimizer in optimizers:
            optimizer.step()


# ---- the allocator ----

class Segment:
    """An expandable segment: blocks [address, bytes, free] side by side (c10/cuda/CUDACachingAllocator.cpp)."""

    def __init__(self, page):
        self.blocks, self.mapped, self.page = [], 0, page

    def take(self, size):
        best = min((b for b in self.blocks if b[2] and b[1] >= size), key=lambda b: (b[1], b[0]), default=None)
        if best is None:
            last = self.blocks[-1] if self.blocks and self.blocks[-1][2] else None
            more = -(-(size - (last[1] if last else 0)) // self.page) * self.page
            if last is None:
                last = [self.mapped, 0, True]
                self.blocks.append(last)
            last[1] += more
            self.mapped += more
            best = last
        if best[1] - size >= 512:
            self.blocks.insert(self.blocks.index(best) + 1, [best[0] + size, best[1] - size, True])
            best[1] = size
        best[2] = False
        return best

    def give(self, block):
        block[2] = True
        at = self.blocks.index(block)
        if at + 1 < len(self.blocks) and self.blocks[at + 1][2]:
            block[1] += self.blocks.pop(at + 1)[1]
        if at > 0 and self.blocks[at - 1][2]:
            self.blocks[at - 1][1] += block[1]
            del self.blocks[at]


PRODUCTS = {"aten::mm", "aten::addmm", "aten::bmm", "aten::_scaled_dot_product_flash_attention_for_cpu",
            "aten::_scaled_dot_product_flash_attention_for_cpu_backward"}


def requests(events):
    """(time, address, bytes) of what is asked for, below 0: given back, without the workspaces of a CPU's products."""
    memory = sorted((e["ts"], e["args"]["Addr"], e["args"]["Bytes"]) for e in events if e.get("name") == "[memory]")
    spans = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e.get("ph") == "X" and e.get("name") in PRODUCTS)
    starts, open_at, workspaces = [s for s, _ in spans], {}, set()
    for k, (time, address, size) in enumerate(memory):
        if size > 0:
            open_at[address] = k
            continue
        j = open_at.pop(address, None)
        i = bisect.bisect_right(starts, memory[j][0]) - 1 if j is not None else -1
        if i >= 0 and spans[i][1] >= time:
            workspaces |= {j, k}
    return [m for k, m in enumerate(memory) if k not in workspaces]


def replay(events, factor):
    contexts = sorted((e["ts"], e["ts"] + e["dur"], int(e["name"][6:])) for e in events if e.get("ph") == "X" and str(e.get("name")).startswith("STREAM"))
    starts = [c[0] for c in contexts]

    def stream(time):
        at = bisect.bisect_right(starts, time)
        return next((c[2] for c in reversed(contexts[max(0, at - 50):at]) if time <= c[1]), 0)
    pools, live, now, most = {}, {}, 0, 0
    for time, address, size in requests(events):
        if size > 0:
            size = -(-size * factor // 512) * 512
            small = size <= SMALL
            pool = pools.setdefault((stream(time), small), Segment(2 * SMALL if small else PAGE))
            live[address] = (pool, pool.take(size), size)
            now += size
            most = max(most, now)
        elif address in live:
            pool, block, size = live.pop(address)
            pool.give(block)
            now -= size
    return most, sum(pool.mapped for pool in pools.values())


def main():
    a = arguments()
    sys.path[0] = a.checkout  # beside this file there is a torchtitan.py
    import torch
    import torch.cpu
    import torch.distributed
    import torch.profiler
    from torch.testing._internal.distributed.fake_pg import FakeStore
    pretend_streams(torch)
    torch.distributed.init_process_group("fake", rank=a.pp_rank * a.dp * 8, world_size=a.pp * a.dp * 8, store=FakeStore())
    args, parts = build(a, torch)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        train(a, torch, args, parts, steps=3)
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        profile.export_chrome_trace(file.name)
        events = json.load(open(file.name))["traceEvents"]
    most, reserved = replay(events, a.scale**2)
    shards = sum(p.to_local().numel() * 4 for model, _ in parts for p in model.parameters()) * a.scale**2
    print(f"tensors {most / GIB:.1f} GiB, reserved {reserved / GIB:.1f} GiB; shards of parameters {shards / GIB:.1f} GiB besides")


main()
