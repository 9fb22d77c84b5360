"""The configurations of this experiment: predicted, measured, and their table.

    configurations.py predict SHARDLAB ROOT OUT PROFILE LINK    with copies held to LINK GB/s
    configurations.py measure SHARDLAB ROOT OUT ROUND STEPS SECONDS
    configurations.py table OUT ROUNDS                          Markdown; a line for each goes to OUT/runs.csv
"""
import csv
import json
import math
import os
import statistics
import subprocess
import sys

CPU = {"device": "cpu"}
NVME = {"device": "nvme", "nvme_path": "nvme"}  # runs start in OUT
AHEAD = {**NVME, "pipeline_read": True, "pipeline_write": True}
# name, model, sequence, micro-batch, accumulation, ranks, type, zero_optimization, other sections
CONFIGURATIONS = [
    ("tiny-z1-optimizer", "gpt2-tiny", 128, 4, 2, 1, "fp32", {"stage": 1, "offload_optimizer": CPU}, {}),
    ("tiny-z2-optimizer", "gpt2-tiny", 256, 4, 1, 2, "bf16", {"stage": 2, "offload_optimizer": CPU}, {}),
    ("tiny-activations", "gpt2-tiny", 256, 8, 1, 1, "fp32", {"stage": 0},
     {"activation_checkpointing": {"cpu_checkpointing": True}, "shardlab": {"recompute": "full"}}),
    ("mini-z3-optimizer-param", "gpt2-mini", 128, 4, 1, 1, "fp32", {"stage": 3, "offload_optimizer": CPU, "offload_param": CPU}, {}),
    ("mini-z3-param-bf16", "gpt2-mini", 256, 4, 1, 2, "bf16", {"stage": 3, "offload_optimizer": CPU, "offload_param": CPU}, {}),
    ("mini-z2-optimizer-fp16", "gpt2-mini", 128, 4, 2, 2, "fp16", {"stage": 2, "offload_optimizer": CPU}, {}),
    ("tiny-z3-nvme", "gpt2-tiny", 128, 8, 1, 1, "fp32", {"stage": 3, "sub_group_size": 400000, "offload_optimizer": NVME}, {}),
    ("mini-z3-nvme-ahead", "gpt2-mini", 256, 4, 1, 2, "fp32",
     {"stage": 3, "sub_group_size": 1000000, "offload_optimizer": AHEAD, "offload_param": {**NVME, "max_in_cpu": 0}},
     {"aio": {"block_size": 262144, "queue_depth": 4}})]


def flags_of(root, out, number):
    name, model, seq, micro, accumulate, world, kind, zero, more = CONFIGURATIONS[number]
    config = {"train_micro_batch_size_per_gpu": micro, "gradient_accumulation_steps": accumulate, "gradient_clipping": 1.0,
              "optimizer": {"type": "AdamW", "params": {"lr": 0.0003}}, "zero_optimization": zero, **more}
    if kind != "fp32":
        config[kind] = {"enabled": True}
    if kind == "fp16":
        config[kind]["loss_scale"] = 128  # a skipped update would take no time
    with open(f"{out}/{name}.config.json", "w") as file:
        json.dump(config, file, indent=1)
    return name, ["--model", model, "--config", f"{name}.config.json", "--cluster", "linked.json", "--seq", str(seq), "--world",
                  str(world), "--quiet"]


def run(shardlab, out, words):
    # mpirun is one of those who read what is on standard input
    done = subprocess.run([shardlab, *words], cwd=out, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)


def predict(shardlab, root, out, profile, link):
    cluster = json.load(open(profile))
    cluster["device"]["host_link_GBps"] = float(link)
    with open(f"{out}/linked.json", "w") as file:
        json.dump(cluster, file)
    for number in range(len(CONFIGURATIONS)):
        name, flags = flags_of(root, out, number)
        run(shardlab, out, ["predict", *flags, "--json", f"{name}.predicted.json"])


def measure(shardlab, root, out, round_, steps, seconds):
    for number in range(len(CONFIGURATIONS)):
        name, flags = flags_of(root, out, number)
        count = max(int(steps), math.ceil(float(seconds) / json.load(open(f"{out}/{name}.predicted.json"))["step_time_s"]))
        with open(f"{out}/load.txt", "a") as file:
            file.write(f"{name} {os.getloadavg()[0]:.2f}\n")
        run(shardlab, out, ["measure", *flags, "--data", f"{root}/examples/corpus.txt", "--steps", str(count), "--json",
                            f"{name}.measured.{round_}.json"])


def table(out, rounds):
    loads, errors, rows = {}, [], []
    for line in open(f"{out}/load.txt"):
        name, load = line.split()
        loads[name] = max(loads.get(name, 0), float(load))
    print("| configuration | type | world | ZeRO | predicted [ms] | measured median [ms] | rounds | copied a step [MB] | on the links, predicted "
          "[ms] | error | load |\n|---|---|---|---|---|---|---|---|---|---|---|")
    for name, _, _, _, _, world, kind, zero, _ in CONFIGURATIONS:
        p = json.load(open(f"{out}/{name}.predicted.json"))
        medians = [json.load(open(f"{out}/{name}.measured.{r + 1}.json"))["step_time_s"] for r in range(int(rounds))]
        copies = [t for t in p["traffic"] if t["group"] in ("host_to_device", "device_to_host", "nvme_read", "nvme_write")]
        row = {"name": name, "type": kind, "world": world, "zero_stage": zero["stage"], "predicted_s": p["step_time_s"],
               "measured_s": statistics.median(medians), "round_medians_s": " ".join(f"{m:.6g}" for m in medians),
               "copied_bytes": sum(t["bytes"] for t in copies), "links_s": sum(t["time_s"] for t in copies), "load": loads[name]}
        error = row["predicted_s"] / row["measured_s"] - 1
        errors.append(abs(error))
        rows.append(row)
        print(f"| {name} | {kind} | {world} | {zero['stage']} | {1e3 * row['predicted_s']:.1f} | {1e3 * row['measured_s']:.1f} | "
              f"{', '.join(f'{1e3 * m:.1f}' for m in medians)} | {row['copied_bytes'] / 1e6:.1f} | {1e3 * row['links_s']:.1f} | "
              f"{100 * error:+.1f} % | {row['load']:.1f} |")
    with open(f"{out}/runs.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    print(f"\nMedian error {100 * statistics.median(errors):.1f} % (target 10).")


if __name__ == "__main__":
    {"predict": predict, "measure": measure, "table": table}[sys.argv[1]](*sys.argv[2:])
