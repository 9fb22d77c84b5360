"""Our bf16 kernels beside PyTorch's on the same random inputs: the error of each against double precision, what dropout
keeps, and the time of flash attention. Exit status 1 where ours errs more than 1.1 times as much, gives what is no number,
or cannot be run.

    python3 torch_kernels_gpu.py LIBSHARDLAB_CUDA.so [--json FILE] [--device cpu]

The library is the backend's module. --device cpu is for the module on stand-ins, whose kernels are emulated: small shapes,
no times.
"""
import argparse
import ctypes
import json
import math
import statistics
import sys

import torch
import torch.nn.functional as F

BF16, LIMIT = 1, 1.1
# B T H KV D of GPT-2, GPT-2 XL, a Llama of 1.1 billion parameters twice, and one of 8 billion
ATTENTION = ((8, 1024, 12, 12, 64), (8, 1024, 25, 25, 64), (8, 1024, 32, 4, 64), (1, 8192, 32, 4, 64), (2, 4096, 32, 8, 128))
pointer, size, integer = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
real, double = ctypes.c_float, ctypes.c_double


def fields(kind, *names):
    return [(name, kind) for name in names]


# Structs of kernels/numbers/types.h; fields that are not given are zero. check_calls.py holds them, and the calls below.
class AttentionShape(ctypes.Structure):
    _fields_ = [*fields(size, "B", "T", "H", "KV", "D", "q_stride", "k_stride", "v_stride", "out_stride", "global_heads",
                        "q_gap", "kv_step", "window"), *fields(real, "scale", "cap", "alibi_max"), ("first_head", size), ("keys", size), ("at", size * 3)]


class EmbeddingShape(ctypes.Structure):
    _fields_ = [*fields(size, "B", "T", "C", "first_row", "n_rows", "first_position"), ("scale", real), ("at", size * 3)]


class RopeShape(ctypes.Structure):
    _fields_ = [*fields(size, "B", "T", "heads", "D", "stride", "step", "group", "gap"), ("at", size * 3)]


class Rope(ctypes.Structure):
    _fields_ = [("base", double), ("dim", size), *fields(integer, "interleaved", "scaling"),
                *fields(double, "factor", "low", "high", "original", "attention"), ("whole", integer)]


class Dropout(ctypes.Structure):
    _fields_ = [("p", real), ("key", ctypes.c_uint32 * 4), ("first_element", ctypes.c_uint64), ("row_stride", ctypes.c_uint64),
                ("mask", pointer)]


class Ours:
    def __init__(self, path, device):
        self.device = device
        try:  # cuBLASLt and NCCL are those that PyTorch has brought
            self.lib = ctypes.CDLL(path)
        except OSError as e:
            raise SystemExit(f"{path} cannot be loaded beside PyTorch {torch.__version__}: {e}") from e

    def call(self, name, *arguments):
        stream = torch.cuda.current_stream().cuda_stream if self.device == "cuda" else 0
        code = getattr(self.lib, name)(pointer(stream), integer(BF16), *arguments)
        if code != 0:
            raise RuntimeError(f"{name}: CUDA error {code}")


    def parts(self, b, t, h, d, kv):
        """Into how many parts flash attention's backward divides the query heads of a key head, and where their sums go."""
        dims = (ctypes.c_int64 * 5)(b, t, h, d, kv)
        self.lib.sl_op_attention_parts_bytes.restype = ctypes.c_int64
        self.sums = torch.empty(self.lib.sl_op_attention_parts_bytes(dims), dtype=torch.uint8, device=self.device)
        return integer(self.lib.sl_op_attention_parts(dims)), at(self.sums)


def at(tensor, element=0):
    return pointer(tensor.data_ptr() + element * tensor.element_size())


def error(x, exact):
    return ((x.double() - exact).norm() / exact.norm()).item()


def normal(device, *shape, width=1.0):
    return (torch.randn(*shape, device=device) * width).bfloat16()


def split(qkv, h, kv):
    """Query, key and value heads of packed rows; each query head with its own copy of what its group shares."""
    b, t, c = qkv.shape
    d = c // (h + 2 * kv)
    q, k, v = (x.view(b, t, -1, d).transpose(1, 2) for x in qkv.split([h * d, kv * d, kv * d], 2))
    return q, k.repeat_interleave(h // kv, 1), v.repeat_interleave(h // kv, 1)


def attention(ours, b, t, h, d, kv=None):
    device, kv = ours.device, kv or h
    c, row = h * d, (h + 2 * kv) * d
    k, v = h * d, (h + kv) * d  # where they start in a row
    qkv, dout = normal(device, b, t, row), normal(device, b, t, c)
    shape = AttentionShape(b, t, h, kv, d, row, row, row, c, h)
    out, dqkv = torch.empty(b, t, c, device=device, dtype=torch.bfloat16), torch.empty_like(qkv)
    lse = torch.empty(b, h, t, device=device)
    ours.call("sl_cuda_flash_attention_forward", at(out), at(lse), at(qkv), at(qkv, k), at(qkv, v), ctypes.byref(shape), None,
              None)
    parts, sums = ours.parts(b, t, h, d, kv)
    ours.call("sl_cuda_flash_attention_backward", at(dqkv), at(dqkv, k), at(dqkv, v), at(dout), at(qkv), at(qkv, k), at(qkv, v),
              at(out), at(lse), ctypes.byref(shape), None, None, parts, sums)

    def theirs(x, g):
        x = x.detach().requires_grad_()
        y = F.scaled_dot_product_attention(*split(x, h, kv), is_causal=True).transpose(1, 2).reshape(b, t, c)
        y.backward(g)
        return y.detach(), x.grad

    exact, peer = theirs(qkv.double(), dout.double()), theirs(qkv, dout)
    yield f"attention forward, T {t}", error(out, exact[0]), error(peer[0], exact[0])
    yield f"attention backward, T {t}", error(dqkv, exact[1]), error(peer[1], exact[1])


def layernorm(ours, rows, c):
    device = ours.device
    x, dout = normal(device, rows, c), normal(device, rows, c)
    weight, bias = normal(device, c), normal(device, c)
    out, dx = torch.empty_like(x), torch.zeros_like(x)
    dweight, dbias = torch.empty_like(weight), torch.empty_like(bias)
    mean, rstd = torch.empty(rows, device=device), torch.empty(rows, device=device)
    ours.lib.sl_cuda_layernorm_scratch_bytes.restype = size
    scratch = torch.empty(ours.lib.sl_cuda_layernorm_scratch_bytes(size(rows), size(c)) + 8, device=device,
                          dtype=torch.uint8)
    ours.call("sl_cuda_layernorm_forward", at(out), at(mean), at(rstd), at(x), at(weight), at(bias), size(rows), size(c),
              real(1e-5), integer(0), None)
    ours.call("sl_cuda_layernorm_backward", at(dx), integer(0), at(dweight), at(dbias), integer(0), integer(0), at(dout), at(x),
              at(weight), at(mean), at(rstd), size(rows), size(c), integer(0), at(scratch), None)

    def theirs(*tensors):
        x_, w, b = (y.detach().requires_grad_() for y in tensors[:3])
        y = F.layer_norm(x_, (c,), w, b, 1e-5)
        y.backward(tensors[3])
        return y.detach(), x_.grad, w.grad, b.grad

    exact = theirs(*(y.double() for y in (x, weight, bias, dout)))
    peer = theirs(x, weight, bias, dout)
    for name, mine, i in (("forward", out, 0), ("dx", dx, 1), ("dweight", dweight, 2), ("dbias", dbias, 3)):
        yield f"layernorm {name}", error(mine, exact[i]), error(peer[i], exact[i])


def rmsnorm(ours, rows, c):
    device = ours.device
    x, dout, weight = normal(device, rows, c), normal(device, rows, c), normal(device, c)
    out, dx, dweight, rstd = torch.empty_like(x), torch.empty_like(x), torch.empty_like(weight), torch.empty(rows, device=device)
    ours.lib.sl_cuda_llama_rmsnorm_scratch_bytes.restype = size
    scratch = torch.empty(ours.lib.sl_cuda_llama_rmsnorm_scratch_bytes(size(rows), size(c)) + 8, device=device,
                          dtype=torch.uint8)
    ours.call("sl_cuda_llama_rmsnorm_forward", at(out), at(rstd), at(x), at(weight), size(rows), size(c), real(1e-5),
              integer(0), None)
    ours.call("sl_cuda_llama_rmsnorm_backward", at(dx), integer(0), at(dweight), integer(0), integer(0), at(dout), at(x), at(weight),
              at(rstd), size(rows), size(c), integer(0), at(scratch), None)

    def theirs(*tensors):
        x_, w = (y.detach().requires_grad_() for y in tensors[:2])
        y = F.rms_norm(x_, (c,), w, 1e-5)
        y.backward(tensors[2])
        return y.detach(), x_.grad, w.grad

    exact, peer = theirs(x.double(), weight.double(), dout.double()), theirs(x, weight, dout)
    for name, mine, i in (("forward", out, 0), ("dx", dx, 1), ("dweight", dweight, 2)):
        yield f"rmsnorm {name}", error(mine, exact[i]), error(peer[i], exact[i])


def gelu(ours, rows, c):
    x, dout = normal(ours.device, rows, c, width=2), normal(ours.device, rows, c)
    out, dx = torch.empty_like(x), torch.empty_like(x)
    ours.call("sl_cuda_gelu_forward", at(out), at(x), None, size(rows), size(c))
    ours.call("sl_cuda_gelu_backward", at(dx), at(dout), at(x), None, size(rows), size(c))

    def theirs(x_, g):
        x_ = x_.detach().requires_grad_()
        y = F.gelu(x_, approximate="tanh")
        y.backward(g)
        return y.detach(), x_.grad

    exact, peer = theirs(x.double(), dout.double()), theirs(x, dout)
    yield "gelu forward", error(out, exact[0]), error(peer[0], exact[0])
    yield "gelu backward", error(dx, exact[1]), error(peer[1], exact[1])


def swiglu(ours, rows, c):
    """Gate and up side by side in a row, as one product makes them."""
    both, dout = normal(ours.device, rows, 2 * c, width=2), normal(ours.device, rows, c)
    out, d = torch.empty_like(dout), torch.empty_like(both)
    ours.call("sl_cuda_llama_swiglu_forward", at(out), at(both), at(both, c), size(rows), size(c), size(2 * c))
    ours.call("sl_cuda_llama_swiglu_backward", at(d), at(d, c), at(dout), at(both), at(both, c), size(rows), size(c), size(2 * c))

    def theirs(x, g):
        x = x.detach().requires_grad_()
        gate, up = x.split(c, 1)
        y = F.silu(gate) * up
        y.backward(g)
        return y.detach(), x.grad

    exact, peer = theirs(both.double(), dout.double()), theirs(both, dout)
    yield "swiglu forward", error(out, exact[0]), error(peer[0], exact[0])
    yield "swiglu backward", error(d, exact[1]), error(peer[1], exact[1])


def rope(ours, b, t, h, d, base=10000.0):
    """As transformers turns: the halves of a head, by angles rounded to float."""
    x = normal(ours.device, b, t, h, d)
    frequency = (base ** (-torch.arange(0, d, 2, device=ours.device, dtype=torch.float64) / d)).float()
    angle = (torch.arange(t, device=ours.device).float()[:, None] * frequency).double()

    def theirs(y, direction):
        cosine, sine = (f(angle).to(y.dtype).repeat(1, 2)[:, None] for f in (torch.cos, torch.sin))
        half = torch.cat((-y[..., d // 2:], y[..., :d // 2]), -1)
        return y * cosine + direction * half * sine

    for name, direction in (("forward", 1), ("backward", -1)):
        mine = x.clone()
        ours.call("sl_cuda_llama_rope", at(mine), ctypes.byref(RopeShape(b, t, h, d, h * d, d)), size(0),
                  ctypes.byref(Rope(base)), integer(direction))
        exact = theirs(x.double(), direction)
        yield f"rope {name}", error(mine, exact), error(theirs(x, direction), exact)


def embedding(ours, b, t, c, v):
    device = ours.device
    wte, wpe, dout = normal(device, v, c), normal(device, t, c), normal(device, b, t, c)
    # as in text, few tokens stand in most places
    tokens = (torch.rand(b, t, device=device) ** 4 * v).int()
    shape = EmbeddingShape(b, t, c, 0, v, 0)
    out, dwte, dwpe = torch.empty_like(dout), torch.empty_like(wte), torch.empty_like(wpe)
    ours.call("sl_cuda_embedding_forward", at(out), at(tokens), at(wte), at(wpe), ctypes.byref(shape), None, None)
    ours.call("sl_cuda_embedding_backward", at(dwte), integer(0), at(dwpe), size(t), integer(0), integer(0), at(dout),
              at(tokens), ctypes.byref(shape), None, None)

    def theirs(table, positions, g):
        table, positions = (x.detach().requires_grad_() for x in (table, positions))
        y = F.embedding(tokens.long(), table) + positions
        y.backward(g)
        return y.detach(), table.grad, positions.grad

    exact, peer = theirs(wte.double(), wpe.double(), dout.double()), theirs(wte, wpe, dout)
    for name, mine, i in (("forward", out, 0), ("dwte", dwte, 1), ("dwpe", dwpe, 2)):
        yield f"embedding {name}", error(mine, exact[i]), error(peer[i], exact[i])


def bias_gradient(ours, rows, c):
    dout = normal(ours.device, rows, c)
    mine = torch.empty(c, device=ours.device, dtype=torch.bfloat16)
    scratch = torch.empty(-(-rows // 256) * c, device=ours.device)
    ours.call("sl_cuda_reduce_bias_backward", at(mine), integer(BF16), integer(0), at(dout), size(rows), size(c), at(scratch))
    exact = dout.double().sum(0)
    yield "bias gradient", error(mine, exact), error(dout.sum(0), exact)


def dropout(ours, rows, c, p=0.1):
    """What is kept, and how often: shares in units of five standard deviations, which are to be below 1."""
    x = torch.ones(rows, c, device=ours.device, dtype=torch.bfloat16)

    def drawn(step):
        out, key = torch.empty_like(x), (ctypes.c_uint32 * 4)(4711, 2, step, 13)
        ours.call("sl_cuda_dropout_forward", at(out), at(x), size(rows), size(c),
                  ctypes.byref(Dropout(p, key, 0, c, None)), None)
        return out

    def off(kept, expected):
        n = kept.numel()
        return abs(kept.double().mean().item() - expected) / (5 * math.sqrt(expected * (1 - expected) / n))

    first, same, other = drawn(6), drawn(6), drawn(7)
    kept, later, q = first != 0, other != 0, 1 - p
    value = torch.tensor(1 / q).bfloat16().item()
    exact = (first.double() - value * kept.double()).abs().max().item() + (first - same).abs().max().item()
    yield "dropout's values, and again", exact, 0.0
    for name, shares, expected in (("kept", kept, q), ("kept, with the next", kept[:, 1:] & kept[:, :-1], q * q),
                                   ("kept, and at the next step", kept & later, q * q),
                                   ("kept, with the row below", kept[1:] & kept[:-1], q * q)):
        yield f"dropout: {name}", off(shares, expected), 1.0


def classifier(ours, rows, v):
    logits = normal(ours.device, rows, v, width=3)
    targets = torch.randint(v, (rows,), device=ours.device)
    mine, labels = logits.clone(), targets.int()
    loss, losses = torch.zeros(1, device=ours.device, dtype=torch.float64), torch.empty(rows, device=ours.device,
                                                                                      dtype=torch.float64)
    ours.call("sl_cuda_classifier_fused", at(loss), at(losses), at(mine), at(labels), size(rows), size(v), size(v),
              double(1 / rows), None)

    def theirs(x):
        x = x.detach().requires_grad_()
        F.cross_entropy(x, targets).backward()
        return x.grad

    exact = theirs(logits.double())
    yield "classifier gradient", error(mine, exact), error(theirs(logits), exact)


def milliseconds(work, repeats=20):
    times = []
    for _ in range(5 + repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record(), work(), end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times[5:])


def attention_times(ours, b, t, h, kv, d):
    """Forward and backward of ours and of scaled_dot_product_attention, ms, and ours in TFLOP/s of the causal half."""
    k, v, row, c = h * d, (h + kv) * d, (h + 2 * kv) * d, h * d  # where they start in a row, and its length
    qkv, dout = normal("cuda", b, t, row), normal("cuda", b, t, c)
    shape = AttentionShape(b, t, h, kv, d, row, row, row, c, h)
    out, dqkv, lse = torch.empty_like(dout), torch.empty_like(qkv), torch.empty(b, h, t, device="cuda")
    theirs = [x.reshape(b, t, -1, d).transpose(1, 2).detach().requires_grad_() for x in qkv.split([h * d, kv * d, kv * d], 2)]
    g = dout.view(b, t, h, d).transpose(1, 2)
    their_forward = lambda: F.scaled_dot_product_attention(*theirs, is_causal=True, enable_gqa=h > kv)
    y = their_forward()
    flops = 2 * b * h * t * t * d
    parts, sums = ours.parts(b, t, h, d, kv)
    ms = {
        "forward": milliseconds(lambda: ours.call("sl_cuda_flash_attention_forward", at(out), at(lse), at(qkv),
                                                  at(qkv, k), at(qkv, v), ctypes.byref(shape), None, None)),
        "backward": milliseconds(lambda: ours.call("sl_cuda_flash_attention_backward", at(dqkv), at(dqkv, k), at(dqkv, v),
                                                   at(dout), at(qkv), at(qkv, k), at(qkv, v), at(out), at(lse),
                                                   ctypes.byref(shape), None, None, parts, sums)),
        "torch_forward": milliseconds(their_forward),
        "torch_backward": milliseconds(lambda: torch.autograd.grad(y, theirs, g, retain_graph=True)),
    }
    return {"shape": [b, t, h, kv, d], "ms": ms, "forward_tflops": flops / ms["forward"] / 1e9,
            "backward_tflops": 2.5 * flops / ms["backward"] / 1e9}


def cases(ours):
    if ours.device == "cpu":
        return [attention(ours, 1, 70, 4, 40, 2), layernorm(ours, 33, 75), rmsnorm(ours, 33, 75), gelu(ours, 33, 75),
                swiglu(ours, 33, 75), rope(ours, 2, 33, 3, 26), embedding(ours, 3, 41, 75, 103), bias_gradient(ours, 133, 75),
                classifier(ours, 17, 301), dropout(ours, 133, 75)]
    return [*(attention(ours, *shape) for shape in ((2, 900, 5, 64), (4, 1024, 12, 64), (1, 1111, 3, 128), (1, 1301, 3, 80),
                                                    (2, 1000, 8, 64, 2))),
            layernorm(ours, 3001, 768), rmsnorm(ours, 3001, 2048), gelu(ours, 3001, 3072), swiglu(ours, 3001, 5632),
            rope(ours, 3, 1301, 32, 64), embedding(ours, 8, 1024, 768, 50257), bias_gradient(ours, 8192, 3072),
            classifier(ours, 701, 50257), classifier(ours, 701, 50304), dropout(ours, 8192, 768)]


def compare(ours):
    """Rows of every case, and what could not be run; after an error on the device nothing can."""
    rows, trouble = [], []
    for case in cases(ours):
        try:
            for name, mine, theirs in case:
                holds = mine <= LIMIT * theirs  # false for what is no number
                rows.append({"kernel": name, "ours": mine, "torch": theirs, "holds": holds})
                print(f"{name:28} error {mine:.3e}, PyTorch {theirs:.3e}{'' if holds else '  <-- too large'}", flush=True)
        except (RuntimeError, AssertionError, AttributeError) as e:  # CUDA's errors, a function that the module lacks
            trouble.append(f"{case.__name__}: {str(e).splitlines()[0]}")
            print(trouble[-1], flush=True)
    return rows, trouble


def verdict(rows, trouble):
    bad = [r["kernel"] for r in rows if not r["holds"]]
    if trouble:
        return f"bf16 kernels: {len(trouble)} cases could not be run, the first {trouble[0]}"
    if bad:
        return f"bf16 kernels: these err more than {LIMIT} times as PyTorch's do: {', '.join(bad)}"
    ratios = {r["kernel"]: r["ours"] / r["torch"] for r in rows if r["torch"] > 0 and not r["kernel"].startswith("dropout")}
    worst = max(ratios, key=ratios.get)
    return f"bf16 kernels: the worst error is {ratios[worst]:.2f} of PyTorch's, {worst} (limit {LIMIT})"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("library")
    p.add_argument("--json")
    p.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    args = p.parse_args()
    torch.manual_seed(4711)
    ours = Ours(args.library, args.device)
    rows, trouble = compare(ours)
    result = {"torch": torch.__version__, "errors": rows, "trouble": trouble}
    if args.device == "cuda" and not trouble:
        result["attention"] = [attention_times(ours, *shape) for shape in ATTENTION]
        for a in result["attention"]:
            print(f"attention {a['shape']}: " + ", ".join(f"{k} {v:.3f} ms" for k, v in a["ms"].items()))
    if args.json:
        with open(args.json, "w") as f:
            json.dump(result, f, indent=1)
    print(verdict(rows, trouble))
    sys.exit(bool(trouble) or not all(r["holds"] for r in rows))


if __name__ == "__main__":
    main()
