"""Models and clusters for the draw: presets, and small files with odd sizes."""
from same.deck import Deck

# name: (family, layers, what tensor parallelism divides: heads, or a divisor that key/value heads and inner width share)
PRESETS = {
    "gpt2-tiny": ("gpt2", 4, 4), "gpt2-mini": ("gpt2", 6, 8), "gpt2": ("gpt2", 12, 12), "gpt2-medium": ("gpt2", 24, 16),
    "gpt2-large": ("gpt2", 36, 20), "gpt2-xl": ("gpt2", 48, 25), "gpt3-1.3b": ("gpt2", 24, 16),
    "gpt3-2.7b": ("gpt2", 32, 32), "gpt3-6.7b": ("gpt2", 32, 32), "gpt3-13b": ("gpt2", 40, 40),
    "gpt3-175b": ("gpt2", 96, 96), "megatron-1t": ("gpt2", 128, 160), "zero-7.5b": ("gpt2", 36, 32),
    "llama2-7b": ("llama", 32, 32), "llama2-13b": ("llama", 40, 8), "llama2-70b": ("llama", 80, 8),
    "llama3-8b": ("llama", 32, 8), "llama3-70b": ("llama", 80, 8), "llama3-405b": ("llama", 126, 8),
}
TP = (1, 2, 3, 4, 5, 6, 8)


class Model:
    """`tp`: the degrees that divide it; `file`: the content of its config.json, None for a preset."""

    def __init__(self, name, family, layers, tp, positions, file=None):
        self.name, self.family, self.layers, self.tp, self.positions, self.file = name, family, layers, tp, positions, file
        self.transformer = family != "mlp"


def dividing(*sizes):
    return [n for n in TP if all(size % n == 0 for size in sizes)]


class Models:
    def __init__(self, rng):
        self.rng = rng
        self.kinds = Deck(rng, [self.preset] * 4 + [self.gpt2] * 3 + [self.llama] * 3 + [self.mlp] * 2)
        self.presets = Deck(rng, PRESETS)

    def deal(self, huge):
        """`huge`: whether models of 80 layers and more are welcome."""
        self.fits = lambda name: huge or PRESETS[name][1] < 80
        return self.kinds.deal()()

    def preset(self):
        name = self.presets.deal(self.fits)
        family, layers, heads = PRESETS[name]
        return Model(name, family, layers, dividing(heads), 256 if layers < 12 else 1024)

    def gpt2(self):
        rng = self.rng
        heads, layers, positions = rng.choice([1, 3, 4, 5, 6, 8, 12]), rng.randint(1, 13), rng.randint(16, 70)
        width, dropout = heads * rng.randint(1, 40), rng.choice([0, 0, 0.1, 0.25])
        file = {"model_type": "gpt2", "vocab_size": rng.randint(30, 3000), "n_positions": positions, "n_embd": width,
                "n_layer": layers, "n_head": heads, "embd_pdrop": dropout, "attn_pdrop": dropout,
                "resid_pdrop": rng.choice([dropout, 0]), "tie_word_embeddings": rng.random() < 0.7}
        if rng.random() < 0.3:
            file["n_inner"] = heads * rng.randint(1, 90)
        return Model("file", "gpt2", layers, dividing(heads, file.get("n_inner", 4 * width)), positions, file)

    def llama(self):
        rng = self.rng
        kv_heads, layers, positions = rng.choice([1, 2, 3, 4, 5, 6, 8]), rng.randint(1, 13), rng.randint(16, 70)
        heads, size, inner = kv_heads * rng.randint(1, 3), 2 * rng.randint(1, 16), kv_heads * rng.randint(5, 60)
        file = {"model_type": "llama", "vocab_size": rng.randint(30, 3000), "max_position_embeddings": positions,
                "hidden_size": heads * size, "intermediate_size": inner, "num_hidden_layers": layers,
                "num_attention_heads": heads, "num_key_value_heads": kv_heads, "tie_word_embeddings": rng.random() < 0.3}
        if rng.random() < 0.3:
            file.update(head_dim=size + 2, attention_dropout=0.1)
        return Model("file", "llama", layers, dividing(kv_heads, inner), positions, file)

    def mlp(self):
        rng = self.rng
        part, layers = rng.choice([1, 2, 3, 4, 6, 8]), rng.randint(1, 12)
        dims = [rng.randint(1, 60)] + [part * rng.randint(1, 40) for _ in range(layers)]
        return Model("file", "mlp", layers, dividing(*dims[1:]), 1, {"model_type": "mlp", "dims": dims})


# What each preset of a cluster computes in beside fp32; localhost is a CPU, which takes every type but tf32.
CLUSTERS = {
    "localhost": ("bf16", "fp16", "fp8"), "dgx2-v100": ("fp16",), "dgx-a100-40g": ("bf16", "fp16", "tf32"),
    "dgx-a100-80g": ("bf16", "fp16", "tf32"), "dgx-h100": ("bf16", "fp16", "tf32", "fp8"),
    "dgx-h200": ("bf16", "fp16", "tf32", "fp8"), "h100x1": ("bf16", "fp16", "tf32", "fp8"),
    "h200x1": ("bf16", "fp16", "tf32", "fp8"),
    "cpu file": ("bf16", "fp16", "fp8"), "gpu file": ("bf16", "fp16", "tf32"),
}


class Clusters:
    def __init__(self, rng):
        self.rng, self.deck = rng, Deck(rng, [*CLUSTERS, "localhost", "localhost"])

    def deal(self, world, precision):
        """(name, content of its file or None): it has `world` devices and computes in `precision`."""
        name = self.deck.deal(lambda card: (precision == "fp32" or precision in CLUSTERS[card]) and
                              (card not in ("h100x1", "h200x1") or world == 1))
        return name, self.file(name, world) if name.endswith(" file") else None

    def file(self, name, world):
        rng, kind, node = self.rng, name[:3], self.rng.randint(1, 5)
        tflops = rng.uniform(0.05, 90)
        device = {"name": "odd", "kind": kind, "peak_TFLOPS": {"fp32": tflops, "bf16": 7.5 * tflops, "fp16": 7 * tflops},
                  "memory_GiB": rng.uniform(4, 300), "memory_bandwidth_GBps": rng.uniform(9, 3000),
                  "gemm_efficiency": rng.uniform(0.3, 1), "launch_us": rng.choice([0, 1.7]), "host_link_GBps": 13.5,
                  "host_bandwidth_GBps": 150}
        if kind == "cpu":
            device.update(cores=rng.randint(1, 9), comm_cpu_share=0.3)
        else:
            device["peak_TFLOPS"]["tf32"] = 3.5 * tflops
        if rng.random() < 0.5:
            device.update(cache_MiB=37, cache_bandwidth_GBps=5500, step_overhead_ms=0.3, run_noise=0.03)
        inner = {"name": "inner", "bandwidth_GBps": rng.uniform(3, 400), "latency_us": rng.uniform(0, 9), "half_KiB": 77}
        outer = {"name": "outer", "bandwidth_GBps": rng.uniform(0.5, 50), "latency_us": rng.uniform(3, 30)}
        links = [{**inner, "span": node}, outer] if node > 1 else [outer]
        nodes = 0 if rng.random() < 0.5 else -(-world // node)
        return {"name": "odd", "nodes": nodes, "devices_per_node": node, "device": device, "links": links}
