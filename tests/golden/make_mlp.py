"""Golden values of a multilayer perceptron with odd sizes: writes mlp/ (see README.md).

Its samples come from the counter-based generator of kernels/philox.h, written here a second time, in numpy.

    python make_mlp.py
"""
import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import save_file

import golden

CONFIG = {"model_type": "mlp", "dims": [7, 13, 5]}
SEED = 1234
STREAM = 0x64617461  # "data" in ASCII: far from the small numbers that name initial values and dropout sites
INPUT, TARGET = 0, 1  # the generator's tensor numbers
SAMPLES = golden.STEPS * golden.GLOBAL_BATCH


def philox_block(counter, key):
    """Philox 4x32-10 of counters (n,4) under one key (2,); Salmon et al., SC'11."""
    c = [counter[:, i].astype(np.uint64) for i in range(4)]
    k0, k1 = (int(k) for k in key)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> half) ^ c[1] ^ np.uint64(k0), p1 & low, (p0 >> half) ^ c[3] ^ np.uint64(k1), p0 & low]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(c, axis=1).astype(np.uint32)


def check_philox():
    """The known answers that come with Random123 (kat_vectors)."""
    ones = 0xFFFFFFFF
    for counter, key, expected in (
        ((0, 0, 0, 0), (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ((ones, ones, ones, ones), (ones, ones), "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0), "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ):
        block = philox_block(np.array([counter], dtype=np.uint64), key)[0]
        assert " ".join(f"{w:08x}" for w in block) == expected, expected


def philox_normal(n, seed, stream, step, tensor):
    """Elements [0, n): block e // 4 has the counter (its low half, its high half, step, tensor); a pair of words makes a
    pair of normal numbers in double, rounded to float."""
    blocks = np.arange((n + 3) // 4, dtype=np.uint64)
    counter = np.stack([blocks & np.uint64(0xFFFFFFFF), blocks >> np.uint64(32), np.full_like(blocks, step),
                        np.full_like(blocks, tensor)], axis=1)
    pairs = philox_block(counter, (seed, stream)).reshape(-1, 2).astype(np.float64)
    radius = np.sqrt(-2.0 * np.log((pairs[:, 0] + 1.0) * 2.0**-32))
    angle = 2.0 * np.pi * (pairs[:, 1] * 2.0**-32)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)[:n].astype(np.float32)


def make_init(rng, dims):
    init = {}
    for i, (n_in, n_out) in enumerate(zip(dims, dims[1:])):
        init[f"layers.{i}.weight"] = golden.weight(rng, n_out, n_in, std=0.4)
        init[f"layers.{i}.bias"] = golden.weight(rng, n_out, std=0.1)
    return init


def loss(p, batch):
    x, y = batch
    last = len(CONFIG["dims"]) - 2
    x = x.to(p["layers.0.weight"].dtype)
    for i in range(last + 1):
        x = F.linear(x, p[f"layers.{i}.weight"], p[f"layers.{i}.bias"])
        x = x if i == last else x.relu()
    return F.mse_loss(x, y.to(x.dtype))


def main():
    golden.setup()
    check_philox()
    dims = CONFIG["dims"]
    init = make_init(np.random.RandomState(20240520), dims)
    data = {
        "inputs": philox_normal(SAMPLES * dims[0], SEED, STREAM, 0, INPUT).reshape(SAMPLES, dims[0]),
        "targets": philox_normal(SAMPLES * dims[-1], SEED, STREAM, 0, TARGET).reshape(SAMPLES, dims[-1]),
    }
    split = (torch.from_numpy(a).split(golden.GLOBAL_BATCH) for a in data.values())
    folder = golden.folder_of(__file__, "mlp")
    golden.write_json(folder / "config.json", CONFIG)
    save_file(data, folder / "data.safetensors")
    facts = {"data": {"samples": SAMPLES, "seed": SEED, "stream": STREAM, "input_tensor": INPUT, "target_tensor": TARGET}}
    golden.write_all(folder, "make_mlp.py", init, loss, list(zip(*split)), facts, {"seed": SEED})


if __name__ == "__main__":
    main()
