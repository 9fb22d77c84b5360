"""Export and import give the same plan: property.py SHARDLAB COUNT [SEED]

Random configurations in Megatron-LM's domain are written as its arguments and read again: as words and as a launch script with variables
and comments; plan, configuration and model must be equal, and a second export must be the same text.
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

SHARDLAB = sys.argv[1]
CLUSTER = ("--cluster", "dgx-h100")


def run(*words):
    return subprocess.run([SHARDLAB, *map(str, words)], capture_output=True, text=True, check=False)


def model(r):
    heads, layers = r.choice([4, 8]), r.choice([4, 8, 12])
    if r.random() < 0.5:
        dropout = r.choice([0.0, 0.1])
        return {"model_type": "gpt2", "n_layer": layers, "n_head": heads, "n_embd": heads * 16, "n_positions": r.choice([64, 96]),
                "vocab_size": r.choice([500, 512, 1001]), "n_inner": heads * r.choice([32, 64]), "resid_pdrop": dropout,
                "attn_pdrop": r.choice([0.0, 0.05]), "embd_pdrop": dropout}
    return {"model_type": "llama", "num_hidden_layers": layers, "num_attention_heads": heads, "hidden_size": heads * 16,
            "num_key_value_heads": r.choice([heads, heads // 2]), "intermediate_size": heads * 48, "max_position_embeddings": 96, "vocab_size": 777,
            "rope_theta": r.choice([10000.0, 500000.0]), "head_dim": r.choice([16, 32]), "tie_word_embeddings": r.random() < 0.5,
            "attention_dropout": r.choice([0.0, 0.1])}


def config(r):
    tp, pp, micro = r.choice([1, 2, 4]), r.choice([1, 2, 4]), r.choice([1, 2, 3])
    accumulate, dp = r.choice([4, 8]), r.choice([1, 2])
    ours = {"tp": tp, "pp": pp, "preset": r.choice(["megatron-lm", "megatron-distributed-optimizer"]), "seed": r.randrange(1, 10**6),
            "seq_len": r.choice([32, 64]), "attention": r.choice(["materialised", "flash", "cudnn"]), "recompute": r.choice(["none", "selective", "full"]),
            "rank_order": r.choice(["tp-dp-pp", "tp-pp-dp"]), "make_vocab_size_divisible_by": r.choice([8, 64, 128])}
    if ours["recompute"] == "selective":
        ours["recompute_modules"] = r.choice([["core_attn"], ["core_attn", "layernorm"]])
    if tp > 1 and r.random() < 0.5:
        ours["sequence_parallel"] = True
        ours["tp_comm_overlap"] = r.random() < 0.5
    if pp > 1 and r.random() < 0.5:
        ours.update(virtual_stages=r.choice([2, 1]))
        ours["schedule"] = "interleaved" if ours["virtual_stages"] > 1 else "1f1b"
    if ours["preset"] != "megatron-lm":
        ours["overlap_param_gather"] = r.random() < 0.5
    ds = {"train_micro_batch_size_per_gpu": micro, "train_batch_size": micro * accumulate * dp, "gradient_clipping": r.choice([0.5, 1.0]),
          "optimizer": {"type": "AdamW", "params": {"lr": r.uniform(1e-5, 1e-2), "weight_decay": r.choice([0.0, 0.1]), "eps": 1e-8,
                                                   "betas": [0.9, r.choice([0.95, 0.999])]}}, "shardlab": ours}
    if (word := r.choice(["bf16", "fp16", ""])):
        ds[word] = {"enabled": True}
    return ds, tp * pp * dp


def seen(*inputs):
    """What a configuration turns into, without the names of files."""
    parts = []
    for what in ("plan", "config", "model"):
        ran = run("show", what, *inputs, "--json", "-")
        if ran.returncode != 0:
            return ran.stderr
        parts.append(json.loads(ran.stdout))
    parts[2].pop("_name_or_path", None)
    parts[0].pop("model", None)
    return parts


def as_script(text, r):
    """The same words as a launch script has them."""
    lines, variables = [], []
    for i, line in enumerate(text.splitlines()):
        name, _, value = line.partition(" ")
        if value and " " not in value and r.random() < 0.4:
            variables.append(f'V{i}={value}')
            value = r.choice([f"$V{i}", f"${{V{i}}}", f'"${{V{i}}}"'])
        lines.append(f"    {name} {value} \\")
    return "#!/bin/bash\n# a comment with --micro-batch-size 99\n" + "\n".join(variables) + '\nARGS="\n' + "\n".join(lines) + '\n"\ntorchrun pretrain_gpt.py $ARGS\n'


def one(folder, r):
    ds, world = config(r)
    files = [folder / "model.json", folder / "ds.json", folder / "run.sh"]
    files[0].write_text(json.dumps(model(r)))
    files[1].write_text(json.dumps(ds))
    inputs = ("--model", files[0], "--config", files[1], "--world", world, *CLUSTER)
    want = seen(*inputs)
    if isinstance(want, str):
        return False  # no legal plan
    wrote = run("export-config", "--to", "megatron", *inputs)
    assert wrote.returncode == 0 and "no counterpart" not in wrote.stderr, (ds, wrote.stderr)
    files[2].write_text(as_script(wrote.stdout, r))
    for source in (wrote.stdout.replace("\n", " "), files[2]):
        back = ("--from-megatron", source, "--world", world, *CLUSTER)
        got = seen(*back)
        assert got == want, (ds, wrote.stdout, differences(want, got))
    again = run("export-config", "--to", "megatron", *back)
    assert again.stdout == wrote.stdout, (wrote.stdout, again.stdout, again.stderr)
    return True


def differences(want, got):
    if isinstance(got, str):
        return got
    return [(k, a.get(k), b.get(k)) for a, b in zip(want, got) for k in a.keys() | b.keys() if a.get(k) != b.get(k)]


def main():
    r, count, legal = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1), int(sys.argv[2]), 0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(count):
            legal += one(pathlib.Path(folder), r)
    assert legal * 3 >= count, f"only {legal} of {count} were legal"
    print(f"{legal} plans of {count} drawn, the others being refused as plans: all equal")


if __name__ == "__main__":
    main()
