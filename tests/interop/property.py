"""Export and import give the same plan: property.py SHARDLAB COUNT [SEED [FRAMEWORK ...]]

COUNT random configurations in the domain of each framework (megatron, torchtitan, accelerate) are written in its words and read again, or,
for Accelerate, refused as what cannot be expressed; plan, configuration and model must be equal, and a second export must be the same text. Megatron-LM's words are read as words and as a
launch script with variables and comments. What Accelerate leaves to the script stands in flags on both ways.
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


def seen(*inputs):
    """What a configuration turns into, without the names of files."""
    parts = []
    for what in ("plan", "config", "model"):
        ran = run("show", what, *inputs, "--json", "-")
        if ran.returncode != 0:
            return ran.stderr
        parts.append(json.loads(ran.stdout))
    parts[2].pop("_name_or_path", None)
    ours = parts[1]["shardlab"]
    multiple = ours["tp"] * (ours.get("make_vocab_size_divisible_by") or 1)  # unsaid: the plan's, which must be equal
    ours["make_vocab_size_divisible_by"] = -parts[2]["vocab_size"] // multiple * multiple  # two that come out alike are
    parts[0].pop("model", None)
    return parts


def differences(want, got):
    if isinstance(got, str):
        return got
    return [(k, a.get(k), b.get(k)) for a, b in zip(want, got) for k in a.keys() | b.keys() if a.get(k) != b.get(k)]


def context(r, ours, may, a2a=False):
    """Ranks that share every sequence."""
    if not may or r.random() < 0.6:
        return 1
    ours["cp"] = r.choice([2, 4])
    if a2a:
        ours["cp_comm_type"] = r.choice(["all_gather", "a2a"])
    return ours["cp"]


# ---- Megatron-LM ----

def megatron_model(r):
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


def megatron_config(r):
    tp, pp, micro = r.choice([1, 2, 4]), r.choice([1, 2, 4]), r.choice([1, 2, 3])
    accumulate, dp = r.choice([4, 8]), r.choice([1, 2])
    ours = {"tp": tp, "pp": pp, "preset": r.choice(["megatron-lm", "megatron-distributed-optimizer"]), "seed": r.randrange(10**6) * r.choice([0, 1, 1]),
            "seq_len": r.choice([32, 64]), "attention": r.choice(["materialised", "flash", "cudnn"]), "recompute": r.choice(["none", "selective", "full"]),
            "rank_order": r.choice(["tp-dp-pp", "tp-pp-dp"]), "make_vocab_size_divisible_by": r.choice([None, 1, 8, 64, 128])}
    ours.update(r.choice([{"kernels": "megatron-core"}, {"kernels": "megatron-fused"}, {"kernels": "megatron-unfused", "fused_norm": True}]))
    ours["cross_entropy_loss_fusion"] = r.random() < 0.5
    overlaps = r.choice([None, True, False])
    if ours["recompute"] == "selective":
        ours["recompute_modules"] = r.choice([["core_attn"], ["core_attn", "layernorm"]])
    if tp > 1 and r.random() < 0.5:
        ours["sequence_parallel"] = True
        ours["tp_comm_overlap"] = r.random() < 0.5
    if pp > 1 and r.random() < 0.5:
        ours.update(virtual_stages=r.choice([2, 1]))
        ours["schedule"] = "interleaved" if ours["virtual_stages"] > 1 else "1f1b"
    if ours["preset"] != "megatron-lm":
        ours["overlap_param_gather"] = overlaps is not False and r.random() < 0.5
    cp = context(r, ours, ours["rank_order"] == "tp-dp-pp" and ours["attention"] != "materialised", a2a=True)
    ds = {"train_micro_batch_size_per_gpu": micro, "train_batch_size": micro * accumulate * dp, "gradient_clipping": r.choice([0.5, 1.0]),
          "optimizer": {"type": "AdamW", "params": {"lr": r.uniform(1e-5, 1e-2), "weight_decay": r.choice([0.0, 0.1]), "eps": 1e-8,
                                                   "betas": [0.9, r.choice([0.95, 0.999])]}}, "shardlab": ours}
    if (word := r.choice(["bf16", "fp16", ""])):
        ds[word] = {"enabled": True}
    if word == "bf16" and r.random() < 0.3:
        ours.update(fp8=True, fp8_format=r.choice(["hybrid", "e4m3"]), fp8_margin=r.choice([0, 2]), fp8_amax_history_len=r.choice([1, 16, 1024]),
                    fp8_amax_compute_algo=r.choice(["max", "most_recent"]))
        if (ours["preset"], ours["kernels"]) == ("megatron-distributed-optimizer", "megatron-core"):
            ours["fp8_param_gather"] = r.random() < 0.5
    if overlaps is not None:
        ds["zero_optimization"] = {"overlap_comm": overlaps}
    return ds, tp * pp * dp * cp


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


def megatron(folder, r):
    ds, world = megatron_config(r)
    (folder / "model.json").write_text(json.dumps(megatron_model(r)))

    def read(text):
        (folder / "run.sh").write_text(as_script(text, r))
        return [("--from-megatron", text.replace("\n", " "), "--world", world), ("--from-megatron", folder / "run.sh", "--world", world)]

    return ds, ("--model", folder / "model.json", "--world", world), read


# ---- torchtitan ----

FLAVORS = {"llama3 debugmodel": {"model_type": "llama", "num_hidden_layers": 6, "hidden_size": 256, "num_attention_heads": 16, "num_key_value_heads": 16,
                                 "intermediate_size": 768, "vocab_size": 2048, "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "tie_word_embeddings": False},
           "qwen3 debugmodel": {"model_type": "qwen3", "num_hidden_layers": 8, "hidden_size": 256, "num_attention_heads": 16, "num_key_value_heads": 8,
                                "head_dim": 128, "intermediate_size": 3072, "vocab_size": 2048, "rms_norm_eps": 1e-6, "rope_theta": 1000000.0,
                                "tie_word_embeddings": True}}
SCHEDULES = {"1f1b": 1, "gpipe": 1, "interleaved": 2, "looped-bfs": 2, "interleaved-zb": 2, "zbv": 2}


def torchtitan_config(r, layers, tied):
    tp, pp, dp, micro = r.choice([1, 2, 4]), r.choice([1, 1, 2]), r.choice([2, 4, 8]), r.choice([1, 2])
    accumulate = r.choice([1, 3]) if pp == 1 else r.choice([4, 8])
    ours = {"tp": tp, "pp": pp, "preset": r.choice(["fsdp2", "fsdp2-no-reshard"]), "seed": r.randrange(1, 10**6), "seq_len": r.choice([64, 128]),
            "attention": "flash", "recompute": r.choice(["none", "selective_op", "full"]), "sequence_parallel": tp > 1,
            "kernels": r.choice(["torch-eager", "torch-compile", "torch-compile-blocks"]), "expandable_segments": True}
    if ours["recompute"] == "full":
        ours["recompute_every"] = r.choice([1, 2, 3])
    if tp > 1:
        ours["async_tp"] = r.random() < 0.5
    cp = context(r, ours, True)
    if dp > 2 and r.random() < 0.4:
        ours["shard_size"] = 2 * cp
    if pp > 1:
        ours["schedule"] = r.choice(list(SCHEDULES))
        ours["virtual_stages"] = SCHEDULES[ours["schedule"]]
        cuts = sorted(r.sample(range(1, layers), pp * ours["virtual_stages"] - 1))
        ours["stages"] = [b - a for a, b in zip([0, *cuts], [*cuts, layers])]
    ds = {"train_micro_batch_size_per_gpu": micro, "gradient_accumulation_steps": accumulate, "gradient_clipping": r.choice([0.0, 1.0, 0.3]),
          "optimizer": {"type": "AdamW", "params": {"lr": r.uniform(1e-5, 1e-2), "weight_decay": r.choice([0.0, 0.1]), "eps": 1e-8,
                                                   "betas": [0.9, r.choice([0.95, 0.999])]}}, "shardlab": ours}
    if r.random() < 0.1:
        ds["optimizer"]["type"] = "Adam"
        ds["optimizer"]["params"]["adam_w_mode"] = False
    if tp == pp == cp == 1 and "shard_size" not in ours and r.random() < 0.5:
        ours["preset"] = "ddp"
        if r.random() < 0.8:
            ds["torch_autocast"] = {"enabled": True, "dtype": "bf16"}
    elif r.random() < 0.8:
        sent = r.choice(["fp32", "bf16"])
        ds.update(bf16={"enabled": True}, communication_data_type=sent, data_types={"grad_accum_dtype": sent if pp > 1 else "fp32"})
        if r.random() < 0.2:
            ours.update(fp8=True, fp8_recipe=r.choice(["tensorwise", "rowwise"]))
    return ds, tp * pp * dp * cp


def torchtitan(folder, r):
    shape = FLAVORS[r.choice(list(FLAVORS))]
    ds, world = torchtitan_config(r, shape["num_hidden_layers"], shape["tie_word_embeddings"])
    (folder / "model.json").write_text(json.dumps({**shape, "max_position_embeddings": ds["shardlab"]["seq_len"]}))

    def read(text):
        (folder / "job.toml").write_text(text)
        return [("--from-torchtitan", folder / "job.toml")]

    return ds, ("--model", folder / "model.json", "--world", world), read


# ---- Accelerate ----

def accelerate_config(r):
    """A plan whose optimizer is what the Trainer's rules give, and the flags for what else the script says."""
    kind = r.choice(["accelerate-ddp", "fsdp", "fsdp-shard-grad-op", "fsdp-hybrid-shard", "accelerate-fsdp", "fsdp2-no-reshard", "accelerate-deepspeed",
                     "accelerate-deepspeed", "accelerate-megatron", "megatron-lm"])
    ours, world, nodes = {"preset": kind, "kernels": r.choice(["torch-eager", "torch-compile"])}, r.choice([2, 4, 8, 16]), 1
    ds = {"optimizer": {"type": "AdamW", "params": {"lr": 5e-5, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.0}}, "shardlab": ours,
          "gradient_clipping": 1.0}
    script = ["--micro-batch", r.choice([1, 2, 4]), "--seq", r.choice([64, 128])]
    word = r.choice(["bf16", "fp16", "bf16", ""])
    if word and kind == "accelerate-ddp":
        ds["torch_autocast"] = {"enabled": True, "dtype": word}
    elif word:
        ds[word] = {"enabled": True}
    if "fsdp" in kind:
        script += ["--grad-accum", r.choice([1, 2])]
        ours["recompute"] = r.choice(["none", "full"])
        ours["no_sync"] = True
        if word:
            ds.update(communication_data_type=word, data_types={"grad_accum_dtype": "fp32"})
        if kind == "fsdp-hybrid-shard":
            ours["shard_size"], world = 8, 16
        if kind in ("accelerate-fsdp", "fsdp2-no-reshard"):
            ours["tp"] = r.choice([1, 2])
            if ours["tp"] > 1:
                ours["tp_vocab"] = "gathered"
            cp = context(r, ours, world // ours["tp"] % 4 == 0 and kind == "accelerate-fsdp")
            if world // ours["tp"] > 2 * cp and r.random() < 0.5:
                ours["shard_size"] = 2 * cp
    elif "deepspeed" in kind:
        ds["zero_optimization"] = {"stage": r.choice([0, 1, 2, 3])}
        if world > 2 and r.random() < 0.4:
            ours.update(cp=2, cp_comm_type="a2a")
        elif word and r.random() < 0.3:
            ds["communication_data_type"] = r.choice([word, "fp32"])
        ds.update(gradient_accumulation_steps=r.choice([1, 2, 8]), gradient_clipping=r.choice([0.0, 1.0, 0.5]))
        if ds["zero_optimization"]["stage"] > 1 and r.random() < 0.5:
            ds["zero_optimization"]["offload_optimizer"] = {"device": "cpu"}
            if ds["zero_optimization"]["stage"] == 3 and r.random() < 0.5:
                ds["zero_optimization"]["offload_param"] = r.choice([{"device": "cpu"}, {"device": "nvme", "nvme_path": "/mnt/it's"}])
    elif "megatron" in kind:
        ours.update(kernels="megatron-core", tp=r.choice([1, 2]), pp=r.choice([1, 2]), recompute=r.choice(["none", "none", "selective", "full", "full"]), attention=r.choice(["flash-on-gpu", "flash-on-gpu", "cudnn", "flash"]))
        ours["make_vocab_size_divisible_by"] = r.choice([128, 128, 64, 96])
        if (overlaps := r.choice([False, False, False, True, None])) is not None:
            ds["zero_optimization"] = {"overlap_comm": overlaps}
        ours["sequence_parallel"] = ours["tp"] > 1 and r.random() < 0.5
        ds.update(gradient_accumulation_steps=r.choice([4, 8]), gradient_clipping=r.choice([1.0, 0.5]))
        world = max(world, 4) * context(r, ours, True)
        if word == "fp16" and r.random() < 0.8:  # no key of Accelerate's asks for fp32 gradients
            ds.update(communication_data_type=word, data_types={"grad_accum_dtype": word})
    else:
        script += ["--grad-accum", r.choice([1, 2])]
    if "shard_size" not in ours and r.random() < 0.3:  # a degree that another type has
        ours[r.choice(["tp", "cp", "pp"])] = 2
    elif "fsdp" in kind and script[-1] == 2 and r.random() < 0.3:
        ours["no_sync"] = False
    return ds, world, script


def accelerate(folder, r):
    ds, world, script = accelerate_config(r)
    given = ("--model", "gpt2-mini", *script)

    def read(text):
        (folder / "accelerate.yaml").write_text(text)
        return [("--from-accelerate", folder / "accelerate.yaml", *given)]

    return ds, (*given, "--world", world), read


# ---- all ----

SCRIPTS = ("optimizer.", "gradient_", "train_", "shardlab.seq_len")  # what Accelerate leaves to the script is named


def one(to, folder, r):
    ds, inputs, read = {"megatron": megatron, "torchtitan": torchtitan, "accelerate": accelerate}[to](folder, r)
    (folder / "ds.json").write_text(json.dumps(ds))
    inputs = (*inputs, "--config", folder / "ds.json", *CLUSTER)
    want = seen(*inputs)
    if isinstance(want, str):
        return False  # no legal plan
    wrote = run("export-config", "--to", to, *inputs)
    assert "divisible_by: is 64" not in wrote.stderr, (ds, wrote.stderr)  # gpt2-mini's 256 rows come out alike
    if to == "accelerate" and any(words in wrote.stderr for words in ("cannot be expressed", "as the framework's is")):
        return None
    unsaid = wrote.stderr.partition("no counterpart, so left out: ")[2].strip().split(", ")
    assert wrote.returncode == 0 and all(path == "" or to == "accelerate" and path.startswith(SCRIPTS) for path in unsaid), (ds, wrote.stderr)
    for source in read(wrote.stdout):
        got = seen(*source, *CLUSTER)
        assert got == want, (ds, wrote.stdout, differences(want, got))
    again = run("export-config", "--to", to, *source, *CLUSTER)
    assert again.stdout == wrote.stdout, (wrote.stdout, again.stdout, again.stderr)
    return True


def main():
    count, seed = int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1
    for to in sys.argv[4:] or ["megatron", "torchtitan", "accelerate"]:
        r, legal, refused = random.Random(seed), 0, 0
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(count):
                came = one(to, pathlib.Path(folder), r)
                legal += came is True
                refused += came is None
        assert legal * 3 >= count, f"{to}: only {legal} of {count} were legal"
        assert to != "accelerate" or refused > 0 or count < 40, "nothing was refused"
        print(f"{to}: {legal} plans of {count} drawn, {refused} that cannot be expressed, the others being refused as plans: all equal")


if __name__ == "__main__":
    main()
