"""The trainings of this experiment, and their tables.

    runs.py train SHARDLAB ROOT OUT STEPS SEED...    those whose record is not there yet, seed by seed
    runs.py table OUT                                Markdown; a line for each training goes to OUT/runs.csv; status 1 where a bar is missed
"""
import array
import csv
import json
import os
import statistics
import subprocess
import sys

BAR = 0.01  # of the plain run's validation loss behind the last step, either way
# a letter a token, as nanoGPT's shakespeare_char; sparse gradients need a table of its own at either end
LETTERS = {"model_type": "gpt2", "n_layer": 2, "n_embd": 128, "n_head": 4, "n_positions": 64, "attn_pdrop": 0.0, "embd_pdrop": 0.0,
           "resid_pdrop": 0.0}
UNTIED = {**LETTERS, "vocab_size": 1024, "tie_word_embeddings": False}
DECAYED_LR = 0.002  # at its highest
ADAM = {"lr": 0.001, "betas": [0.9, 0.95], "weight_decay": 0}
WORLDS = (2, 4)  # ranks, always on two nodes: gradients are quantised between nodes
PLAIN = {"optimizer": {"type": "AdamW", "params": ADAM}}
ZERO3 = {"stage": 3, "stage3_param_persistence_threshold": 1000, "stage3_prefetch_bucket_size": 200000, "reduce_bucket_size": 1000000}


def zero3(**more):
    return {**PLAIN, "zero_optimization": {**ZERO3, **more}}


def adam(type_, decayed=False, **more):
    """Of so many steps; decayed: the rate rises for a tenth of them, then falls to zero, as in DeepSpeed's tutorial of BERT."""
    def of(steps):
        params = {key: value(steps) if callable(value) else value for key, value in more.items()}
        config = {"optimizer": {"type": type_, "params": {**ADAM, **params}}}
        if decayed:
            rise = {"warmup_min_lr": 0, "warmup_max_lr": params.get("lr", ADAM["lr"]), "warmup_num_steps": steps // 10, "warmup_type": "linear"}
            config["scheduler"] = {"type": "WarmupDecayLR", "params": {**rise, "total_num_steps": steps}}
        return config
    return of


def onebit(share, **more):
    """Compressed behind this share of the steps."""
    return adam("OneBitAdam", freeze_step=lambda steps: int(share * steps), **more)


# name, the runs it is held against, model, configuration
UNCORRECTED, DECAYED = "AdamW, bias_correction false", "AdamW, bias_correction false, lr rises and falls"
RUNS = [("AdamW", (), "letters", PLAIN),
        (UNCORRECTED, (), "letters", adam("AdamW", bias_correction=False)),
        ("OneBitAdam, freeze_step 100 %", (UNCORRECTED,), "letters", onebit(1)),
        ("OneBitAdam, freeze_step 70 %", (UNCORRECTED, "AdamW"), "letters", onebit(0.7)),
        ("OneBitAdam, freeze_step 20 %", (UNCORRECTED, "AdamW"), "letters", onebit(0.2)),
        (DECAYED, (), "letters", adam("AdamW", True, bias_correction=False, lr=DECAYED_LR)),
        ("OneBitAdam, freeze_step 70 %, lr rises and falls", (DECAYED,), "letters", onebit(0.7, decayed=True, lr=DECAYED_LR)),
        ("OneBitAdam, freeze_step 20 %, lr rises and falls", (DECAYED,), "letters", onebit(0.2, decayed=True, lr=DECAYED_LR)),
        ("ZeRO-3", (), "letters", zero3()),
        ("zero_quantized_weights", ("ZeRO-3",), "letters", zero3(zero_quantized_weights=True)),
        ("zero_quantized_gradients", ("ZeRO-3",), "letters", zero3(zero_quantized_gradients=True)),
        ("both", ("ZeRO-3",), "letters", zero3(zero_quantized_weights=True, zero_quantized_gradients=True)),
        ("AdamW, untied", (), "untied", PLAIN),
        ("sparse_gradients", ("AdamW, untied",), "untied", {**PLAIN, "sparse_gradients": True})]


def file_of(out, number, world, seed, kind):
    return f"{out}/{number}_world{world}_seed{seed}_{kind}.json"


def prepare(root, out, steps):
    """Tokens, models, a configuration for each run, and for each world a cluster of two nodes, as fast as one core is guessed to be."""
    text = open(f"{root}/examples/corpus.txt", "rb").read()
    letters = {letter: number for number, letter in enumerate(sorted(set(text)))}
    array.array("H", (letters[letter] for letter in text)).tofile(open(f"{out}/corpus.bin", "wb"))
    json.dump({**LETTERS, "vocab_size": len(letters)}, open(f"{out}/letters.json", "w"))
    json.dump(UNTIED, open(f"{out}/untied.json", "w"))
    for number, (_, _, _, config) in enumerate(RUNS):
        config = config(steps) if callable(config) else config
        config = {"train_micro_batch_size_per_gpu": 4, "gradient_clipping": 1.0, "shardlab": {"eval_interval": steps}, **config}
        json.dump(config, open(f"{out}/{number}.config.json", "w"))
    localhost = json.load(open(f"{root}/profiles/localhost.json"))
    for world in WORLDS:
        nodes = {**localhost, "name": "two nodes", "nodes": 2, "devices_per_node": world // 2}
        nodes["links"] = [{**localhost["links"][0], "span": world // 2}, {**localhost["links"][0], "name": "between nodes"}]
        json.dump(nodes, open(f"{out}/nodes_{world}.json", "w"))


def run(shardlab, out, words, codes=(0,)):
    done = subprocess.run([shardlab, *words, "--quiet"], cwd=out, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "OMP_WAIT_POLICY": "passive"})  # four ranks may share two cores
    if done.returncode not in codes:
        sys.exit(f"{' '.join(words)}: {done.stderr}")


def train(shardlab, root, out, steps, seed):
    for world in WORLDS:
        for number, (name, _, model, _) in enumerate(RUNS):
            predicted, measured, compared = (os.path.basename(file_of(out, number, world, seed, kind))
                                             for kind in ("predicted", "measured", "compared"))
            if os.path.exists(f"{out}/{compared}"):
                continue
            job = ["--model", f"{model}.json", "--config", f"{number}.config.json", "--cluster", f"nodes_{world}.json", "--world", str(world),
                   "--seq", "64", "--threads", "1", "--seed", str(seed), "--steps", str(steps)]
            run(shardlab, out, ["predict", *job, "--no-fold", "--json", predicted])
            run(shardlab, out, ["measure", *job, "--data", "corpus.bin", "--val-split", "0.05", "--json",
                            measured])
            run(shardlab, out, ["compare", predicted, measured, "--json", compared], (0, 1))
            loss = json.load(open(f"{out}/{measured}"))["evaluation_losses"][-1]
            print(f"seed {seed}, {world} ranks, {name}: {loss:.4f}", file=sys.stderr, flush=True)


def sent_by(record):
    """Bytes that a rank sends in a step: in one behind freeze_step, where there is one."""
    compressed = any(row.get("step") == "compressed" for row in record["traffic"])
    return sum(row["wire_bytes"] for row in record["traffic"] if row.get("step") == ("compressed" if compressed else None))


def collect(out):
    """A row for each training that is there."""
    rows = []
    seeds = sorted({int(name.split("_seed")[1].split("_")[0]) for name in os.listdir(out) if name.endswith("_compared.json")})
    for world in WORLDS:
        for number, (name, _, _, _) in enumerate(RUNS):
            for seed in seeds:
                if not os.path.exists(file_of(out, number, world, seed, "compared")):
                    continue
                record = json.load(open(file_of(out, number, world, seed, "measured")))
                exact = [r for r in json.load(open(file_of(out, number, world, seed, "compared")))["rows"] if r["rule"] == "exact"]
                rows.append({"name": name, "world": world, "seed": seed, "steps": record["steps"],
                             "validation_loss": record["evaluation_losses"][-1],
                             "loss_last_step": record["losses"][-1], "loss_last_20_steps": statistics.mean(record["losses"][-20:]),
                             "sent_bytes_a_rank_and_step": sent_by(record), "exact_judged": len(exact),
                             "exact_equal": sum(r["verdict"] == "ok" for r in exact)})
    return rows


def judged(own, of_plain):
    """Cells of a run beside a plain one with the same seeds, and whether its mean is within the bar and no seed above it."""
    far = {key: [run[key] / plain[key] - 1 for run in own for plain in of_plain if run["seed"] == plain["seed"]]
           for key in ("validation_loss", "loss_last_step", "loss_last_20_steps")}
    if not far["validation_loss"]:
        return [""] * 6, True
    within, above = abs(statistics.mean(far["validation_loss"])) <= BAR, max(far["validation_loss"]) > BAR
    return [", ".join(f"{100 * x:+.2f} %" for x in far["validation_loss"]), *(f"{100 * statistics.mean(x):+.2f} %" for x in far.values()),
            "yes" if within else "no", "no" if above else "yes"], within and not above


def table(out):
    rows = collect(out)
    with open(f"{out}/runs.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    missed = 0
    print("| ranks | run | sent a rank and step [KiB] | bytes and calls as predicted | validation loss, by seed | beside | by seed | mean "
          "| last step, mean | last 20 steps, mean | mean within 1 % | no seed more than 1 % above |\n|---|---|---|---|---|---|---|---|---|---|---|---|")
    for world in WORLDS:
        of = {name: [r for r in rows if (r["name"], r["world"]) == (name, world)] for name, _, _, _ in RUNS}
        for name, plains, _, _ in RUNS:
            own = of[name]
            if not own:
                continue
            wanted, equal = sum(r["exact_judged"] for r in own), sum(r["exact_equal"] for r in own)
            cells = [str(world), name, f"{own[0]['sent_bytes_a_rank_and_step'] / 1024:.0f}", f"{equal} of {wanted}",
                     ", ".join(f"{r['validation_loss']:.3f}" for r in own)]
            missed += equal != wanted
            for plain in plains or ("",):
                beside, met = judged(own, of.get(plain, []))
                missed += not met
                print("| " + " | ".join(cells + [plain, *beside]) + " |")
                cells = [str(world), name, "", "", ""]
    return 1 if missed else 0


if __name__ == "__main__":
    if sys.argv[1] == "table":
        sys.exit(table(sys.argv[2]))
    shardlab, root, out, steps = sys.argv[2:6]
    prepare(root, out, int(steps))
    for seed in sys.argv[6:]:
        train(shardlab, root, out, int(steps), int(seed))
