"""How long the host takes for a kernel of an eager step: what host_launch_us of profiles/kernels/torch-eager.json rests on.

Trains GPT-2 and Llama of transformers, too small for their arithmetic to count, on one thread of a CPU, so that what is
left is Python, PyTorch's dispatcher and autograd. The time is that of 12 blocks more, of the fastest of 200 steps; the
kernels are those that the kernel set torch-eager counts for them (`shardlab show program`). What CUDA's driver takes for
a launch comes on top.

    pip install torch transformers; python3 tests/peers/eager_launches.py build/release/bin/shardlab
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

BLOCKS, STEPS = (12, 24), 200
WIDTH, HEADS, INNER, TOKENS = 48, 12, 64, 64
CONFIGS = {
    "gpt2": lambda n: {"model_type": "gpt2", "n_layer": n, "n_embd": WIDTH, "n_head": HEADS, "vocab_size": TOKENS, "n_positions": 64},
    "llama": lambda n: {"model_type": "llama", "num_hidden_layers": n, "hidden_size": WIDTH, "num_attention_heads": HEADS,
                        "intermediate_size": INNER, "vocab_size": TOKENS, "max_position_embeddings": 64},
}


def kernels(shardlab, config):
    """Launches of a step: an op is one, a pass as many as its second dimension says."""
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "model.json"
        model.write_text(json.dumps(config))
        text = subprocess.run([shardlab, "show", "program", "--model", model, "--preset", "ddp", "--kernels", "torch-eager", "--dtype", "fp32",
                               "--cluster", "dgx-h100", "--seq", "2"], capture_output=True, text=True, check=True).stdout
    ops = re.findall(r"compute\[\d+\]\s+\S+\s+(\S+) \(([\dx ]*)\)", text)
    return sum(int(shape.split(" x ")[1]) if op == "pass" else 1 for op, shape in ops)


def step_seconds(config):
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**config), attn_implementation="sdpa").train()
    model.config.use_cache = False
    ids = torch.randint(0, TOKENS, (1, 2))

    def step():
        start = time.perf_counter()
        model(input_ids=ids, labels=ids).loss.backward()
        seconds = time.perf_counter() - start
        model.zero_grad(set_to_none=True)
        return seconds

    return min(step() for _ in range(STEPS))


def main():
    for name, config_of in CONFIGS.items():
        few, many = (config_of(n) for n in BLOCKS)
        seconds = step_seconds(many) - step_seconds(few)
        count = kernels(sys.argv[1], many) - kernels(sys.argv[1], few)
        print(f"{name}: {count / 12:.0f} kernels a block, {1e6 * seconds / count:.1f} us each")


main()
