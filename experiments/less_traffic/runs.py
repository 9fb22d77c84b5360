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

BAR = 0.01  # of the plain run's validation loss behind the last step
# a letter a token, as nanoGPT's shakespeare_char; sparse gradients need a table of its own at either end
LETTERS = {"model_type": "gpt2", "n_layer": 2, "n_embd": 128, "n_head": 4, "n_positions": 64, "attn_pdrop": 0.0, "embd_pdrop": 0.0,
           "resid_pdrop": 0.0}
UNTIED = {**LETTERS, "vocab_size": 1024, "tie_word_embeddings": False}
ADAM = {"lr": 0.001, "betas": [0.9, 0.95], "weight_decay": 0}
WORLDS = (2, 4)  # ranks, always on two nodes: gradients are quantised between nodes
PLAIN = {"optimizer": {"type": "AdamW", "params": ADAM}}
ZERO3 = {"stage": 3, "stage3_param_persistence_threshold": 1000, "stage3_prefetch_bucket_size": 200000, "reduce_bucket_size": 1000000}


def zero3(**more):
    return {**PLAIN, "zero_optimization": {**ZERO3, **more}}


def onebit(share):
    """Compressed behind this share of the steps."""
    return lambda steps: {"optimizer": {"type": "OneBitAdam", "params": {**ADAM, "freeze_step": int(share * steps)}}}


# name, the run it is held against, model, configuration
RUNS = [("AdamW", None, "letters", PLAIN),
        ("OneBitAdam, freeze_step 70 %", "AdamW", "letters", onebit(0.7)),
        ("OneBitAdam, freeze_step 20 %", "AdamW", "letters", onebit(0.2)),
        ("ZeRO-3", None, "letters", zero3()),
        ("zero_quantized_weights", "ZeRO-3", "letters", zero3(zero_quantized_weights=True)),
        ("zero_quantized_gradients", "ZeRO-3", "letters", zero3(zero_quantized_gradients=True)),
        ("both", "ZeRO-3", "letters", zero3(zero_quantized_weights=True, zero_quantized_gradients=True)),
        ("AdamW, untied", None, "untied", PLAIN),
        ("sparse_gradients", "AdamW, untied", "untied", {**PLAIN, "sparse_gradients": True})]


def plain_of(number):
    """The number of the run that this one is held against; its own where there is none."""
    return next((n for n, run in enumerate(RUNS) if run[0] == RUNS[number][1]), number)


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
                   "--seq", "64", "--threads", "1", "--seed", str(seed)]
            run(shardlab, out, ["predict", *job, "--no-fold", "--json", predicted])
            run(shardlab, out, ["measure", *job, "--steps", str(steps), "--data", "corpus.bin", "--val-split", "0.05", "--json",
                            measured])
            run(shardlab, out, ["compare", predicted, measured, "--json", compared], (0, 1))
            loss = json.load(open(f"{out}/{measured}"))["evaluation_losses"][-1]
            print(f"seed {seed}, {world} ranks, {name}: {loss:.4f}", file=sys.stderr, flush=True)


def sent_by(record):
    """Bytes that a rank sends in a step: in one behind freeze_step, where there is one."""
    compressed = any(row.get("step") == "compressed" for row in record["traffic"])
    return sum(row["wire_bytes"] for row in record["traffic"] if row.get("step") == ("compressed" if compressed else None))


def collect(out):
    """A row for each training that is there, with its plain one."""
    rows = []
    seeds = sorted({int(name.split("_seed")[1].split("_")[0]) for name in os.listdir(out) if name.endswith("_compared.json")})
    for world in WORLDS:
        for number, (name, plain, _, _) in enumerate(RUNS):
            for seed in seeds:
                if not all(os.path.exists(file_of(out, n, world, seed, "compared")) for n in (number, plain_of(number))):
                    continue
                record = json.load(open(file_of(out, number, world, seed, "measured")))
                exact = [r for r in json.load(open(file_of(out, number, world, seed, "compared")))["rows"] if r["rule"] == "exact"]
                rows.append({"name": name, "plain": plain or "", "world": world, "seed": seed, "steps": record["steps"],
                             "validation_loss": record["evaluation_losses"][-1],
                             "loss_last_step": record["losses"][-1], "loss_last_20_steps": statistics.mean(record["losses"][-20:]),
                             "sent_bytes_a_rank_and_step": sent_by(record), "exact_judged": len(exact),
                             "exact_equal": sum(r["verdict"] == "ok" for r in exact)})
    return rows


def apart(rows, row, key):
    """How far a training's loss is from the plain one's of its seed."""
    plain = next(r for r in rows if (r["name"], r["world"], r["seed"]) == (row["plain"], row["world"], row["seed"]))
    return row[key] / plain[key] - 1


def table(out):
    rows = collect(out)
    with open(f"{out}/runs.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    missed = 0
    print("| ranks | run | sent a rank and step [KiB] | bytes and calls as predicted | validation loss, by seed | beside plain | mean "
          "| last step, mean | last 20 steps, mean | at most 1 % above plain |\n|---|---|---|---|---|---|---|---|---|---|")
    for world in WORLDS:
        for name, plain, _, _ in RUNS:
            own = [r for r in rows if (r["name"], r["world"]) == (name, world)]
            if not own:
                continue
            losses = ", ".join(f"{r['validation_loss']:.3f}" for r in own)
            judged, equal = sum(r["exact_judged"] for r in own), sum(r["exact_equal"] for r in own)
            cells = [str(world), name, f"{own[0]['sent_bytes_a_rank_and_step'] / 1024:.0f}", f"{equal} of {judged}", losses]
            missed += equal != judged
            if plain:
                far = {key: [apart(rows, r, key) for r in own] for key in ("validation_loss", "loss_last_step", "loss_last_20_steps")}
                within = max(far["validation_loss"]) <= BAR
                missed += not within
                cells += [", ".join(f"{100 * x:+.2f} %" for x in far["validation_loss"])]
                cells += [f"{100 * statistics.mean(x):+.2f} %" for x in far.values()] + ["yes" if within else "no"]
            else:
                cells += ["", "", "", "", ""]
            print("| " + " | ".join(cells) + " |")
    return 1 if missed else 0


if __name__ == "__main__":
    if sys.argv[1] == "table":
        sys.exit(table(sys.argv[2]))
    shardlab, root, out, steps = sys.argv[2:6]
    prepare(root, out, int(steps))
    for seed in sys.argv[6:]:
        train(shardlab, root, out, int(steps), int(seed))
