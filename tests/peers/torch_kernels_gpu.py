"""Our bf16 kernels beside PyTorch's on the same random inputs: the error of each against double precision, and the time of
flash attention. Exit status 1 where ours errs more than 1.1 times as much.

    python3 torch_kernels_gpu.py LIBSHARDLAB_CUDA.so [--json FILE] [--device cpu]

The library is the backend's module. --device cpu is for the module on stand-ins, whose kernels are emulated: small shapes,
no times.
"""
import argparse
import ctypes
import json
import statistics
import sys

import torch
import torch.nn.functional as F

BF16 = 1
pointer, size, real, integer = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_float, ctypes.c_int


class AttentionShape(ctypes.Structure):
    _fields_ = [(name, size) for name in ("B", "T", "H", "KV", "D", "q_stride", "k_stride", "v_stride", "out_stride",
                                          "global_heads")]


class Ours:
    def __init__(self, path, device):
        self.lib, self.device = ctypes.CDLL(path), device

    def call(self, name, *arguments):
        stream = torch.cuda.current_stream().cuda_stream if self.device == "cuda" else 0
        code = getattr(self.lib, name)(pointer(stream), integer(BF16), *arguments)
        if code != 0:
            raise SystemExit(f"{name}: CUDA error {code}")


def at(tensor, element=0):
    return pointer(tensor.data_ptr() + element * tensor.element_size())


def error(x, exact):
    return ((x.double() - exact).norm() / exact.norm()).item()


def normal(device, *shape, width=1.0):
    return (torch.randn(*shape, device=device) * width).bfloat16()


def split(qkv, heads):
    b, t, c = qkv.shape
    return [x.view(b, t, heads, -1).transpose(1, 2) for x in qkv.split(c // 3, 2)]


def attention(ours, b, t, h, d):
    device, c = ours.device, h * d
    qkv, dout = normal(device, b, t, 3 * c), normal(device, b, t, c)
    shape = AttentionShape(b, t, h, h, d, 3 * c, 3 * c, 3 * c, c, h)
    out, dqkv = torch.empty(b, t, c, device=device, dtype=torch.bfloat16), torch.empty_like(qkv)
    lse = torch.empty(b, h, t, device=device)

    def forward():
        ours.call("sl_cuda_flash_attention_forward", at(out), at(lse), at(qkv), at(qkv, c), at(qkv, 2 * c),
                  ctypes.byref(shape), None, None)

    def backward():
        ours.call("sl_cuda_flash_attention_backward", at(dqkv), at(dqkv, c), at(dqkv, 2 * c), at(dout), at(qkv), at(qkv, c),
                  at(qkv, 2 * c), at(out), at(lse), ctypes.byref(shape), None, None)

    def theirs(x, g):
        x = x.detach().requires_grad_()
        y = F.scaled_dot_product_attention(*split(x, h), is_causal=True).transpose(1, 2).reshape(b, t, c)
        y.backward(g)
        return y.detach(), x.grad

    forward(), backward()
    exact, peer = theirs(qkv.double(), dout.double()), theirs(qkv, dout)
    yield "attention forward", error(out, exact[0]), error(peer[0], exact[0])
    yield "attention backward", error(dqkv, exact[1]), error(peer[1], exact[1])


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
              real(1e-5))
    ours.call("sl_cuda_layernorm_backward", at(dx), integer(0), at(dweight), at(dbias), integer(0), at(dout), at(x),
              at(weight), at(mean), at(rstd), size(rows), size(c), at(scratch))

    def theirs(*tensors):
        x_, w, b = (y.detach().requires_grad_() for y in tensors[:3])
        y = F.layer_norm(x_, (c,), w, b, 1e-5)
        y.backward(tensors[3])
        return y.detach(), x_.grad, w.grad, b.grad

    exact = theirs(*(y.double() for y in (x, weight, bias, dout)))
    peer = theirs(x, weight, bias, dout)
    for name, mine, i in (("forward", out, 0), ("dx", dx, 1), ("dweight", dweight, 2), ("dbias", dbias, 3)):
        yield f"layernorm {name}", error(mine, exact[i]), error(peer[i], exact[i])


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


def classifier(ours, rows, v):
    logits = normal(ours.device, rows, v, width=3)
    targets = torch.randint(v, (rows,), device=ours.device)
    mine, labels = logits.clone(), targets.int()
    loss, losses = torch.zeros(1, device=ours.device, dtype=torch.float64), torch.empty(rows, device=ours.device,
                                                                                      dtype=torch.float64)
    ours.call("sl_cuda_classifier_fused", at(loss), at(losses), at(mine), at(labels), size(rows), size(v), size(v),
              ctypes.c_double(1 / rows), None)

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


def attention_times(ours, b, t, h, d):
    """Forward and backward of ours and of scaled_dot_product_attention, ms, and ours in TFLOP/s of the causal half."""
    c = h * d
    qkv, dout = normal("cuda", b, t, 3 * c), normal("cuda", b, t, c)
    shape = AttentionShape(b, t, h, h, d, 3 * c, 3 * c, 3 * c, c, h)
    out, dqkv, lse = torch.empty_like(dout), torch.empty_like(qkv), torch.empty(b, h, t, device="cuda")
    q, k, v = (x.detach().requires_grad_() for x in split(qkv, h))
    g = dout.view(b, t, h, d).transpose(1, 2)
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    flops = 2 * b * h * t * t * d
    ms = {
        "forward": milliseconds(lambda: ours.call("sl_cuda_flash_attention_forward", at(out), at(lse), at(qkv), at(qkv, c),
                                                  at(qkv, 2 * c), ctypes.byref(shape), None, None)),
        "backward": milliseconds(lambda: ours.call("sl_cuda_flash_attention_backward", at(dqkv), at(dqkv, c),
                                                   at(dqkv, 2 * c), at(dout), at(qkv), at(qkv, c), at(qkv, 2 * c), at(out),
                                                   at(lse), ctypes.byref(shape), None, None)),
        "torch_forward": milliseconds(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)),
        "torch_backward": milliseconds(lambda: torch.autograd.grad(y, (q, k, v), g, retain_graph=True)),
    }
    return {"shape": [b, t, h, d], "ms": ms, "forward_tflops": flops / ms["forward"] / 1e9,
            "backward_tflops": 2.5 * flops / ms["backward"] / 1e9}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("library")
    p.add_argument("--json")
    p.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    args = p.parse_args()
    torch.manual_seed(4711)
    ours = Ours(args.library, args.device)
    small = args.device == "cpu"
    cases = [attention(ours, 1, 70, 2, 40), layernorm(ours, 33, 75), gelu(ours, 33, 75), classifier(ours, 17, 301)] if small \
        else [attention(ours, 2, 900, 5, 64), attention(ours, 1, 1301, 3, 80), attention(ours, 2, 777, 3, 128),
              layernorm(ours, 3001, 768), gelu(ours, 3001, 3072), classifier(ours, 701, 50257)]
    rows, worst = [], 0.0
    for case in cases:
        for name, mine, theirs in case:
            rows.append({"kernel": name, "ours": mine, "torch": theirs})
            worst = max(worst, mine / theirs if theirs > 0 else float(mine > 0))
            print(f"{name:22} error {mine:.3e}, PyTorch {theirs:.3e}")
    result = {"torch": torch.__version__, "errors": rows}
    if not small:
        result["attention"] = [attention_times(ours, *shape) for shape in ((8, 1024, 12, 64), (2, 4096, 16, 128))]
        for a in result["attention"]:
            print(f"attention {a['shape']}: " + ", ".join(f"{k} {v:.3f} ms" for k, v in a["ms"].items()))
    if args.json:
        with open(args.json, "w") as f:
            json.dump(result, f, indent=1)
    print(f"bf16 kernels: the worst error is {worst:.2f} of PyTorch's (limit 1.1)")
    sys.exit(worst > 1.1)


if __name__ == "__main__":
    main()
