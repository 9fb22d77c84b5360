"""The tables of this experiment, on standard output: the largest model of a ladder that fits, found by halving.

    tables.py SHARDLAB ROOT OUT ARENA

What is measured leaves LEAVE_MEMORY and LEAVE_DISK bytes of this machine's memory and of OUT's disk to others (4e9, 25e9).
"""
import json
import os
import shutil
import subprocess
import sys

# layers, width: after the models of ZeRO-Offload (arXiv:2101.06840) and ZeRO-Infinity (arXiv:2104.07857)
LADDER = [(24, 1024), (20, 2048), (40, 2048), (64, 2304), (53, 3072), (72, 3072), (50, 4096), (60, 4096), (65, 4096), (78, 4096),
          (25, 8192), (50, 8192), (75, 8192), (69, 9216), (125, 8192), (62, 16384), (90, 16384), (124, 18432), (100, 25600),
          (128, 25600), (160, 25600), (174, 32768)]
SMALL = [(2, 512), (4, 512), (8, 512), (12, 512), (16, 512), (24, 512), (12, 768), (16, 768), (20, 768), (24, 768), (28, 768),
         (20, 1024), (24, 1024), (24, 1280), (24, 1536), (28, 1536), (32, 1536), (36, 1536), (24, 2048), (28, 2048), (32, 2048), (36, 2048),
         (40, 2048), (44, 2048), (48, 2048), (52, 2048), (56, 2048), (60, 2048), (64, 2048), (80, 2048), (96, 2048), (64, 3072)]
HOST, NVME = 1.5e12, 28e12  # bytes of a DGX-2

STRATEGIES = [("none", 0, None, None), ("ZeRO-2", 2, None, None), ("ZeRO-2, optimizer on the CPU", 2, "cpu", None),
              ("ZeRO-3", 3, None, None), ("ZeRO-3, optimizer on the CPU", 3, "cpu", None),
              ("ZeRO-3, optimizer and parameters on the CPU", 3, "cpu", "cpu"),
              ("ZeRO-3, optimizer and parameters on NVMe", 3, "nvme", "nvme")]


def model(path, layers, width, vocab, positions):
    json.dump({"model_type": "gpt2", "n_layer": layers, "n_embd": width, "n_head": width // 64 if width < 2048 else width // 128,
               "vocab_size": vocab, "n_positions": positions, "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0}, open(path, "w"))
    return 12 * layers * width * width + (vocab + positions) * width


def config(path, strategy, half, folder):
    _, stage, optimizer, param = strategy
    zero = {"stage": stage, "reduce_bucket_size": 5e8 if half else 5e6}
    if not half:
        zero.update(stage3_prefetch_bucket_size=5e6, stage3_max_live_parameters=2e7, stage3_max_reuse_distance=0,
                    sub_group_size=2e7)
    if optimizer:
        zero["offload_optimizer"] = {"device": optimizer, "nvme_path": folder}
    if param:
        zero["offload_param"] = {"device": param, "nvme_path": folder, "max_in_cpu": 0, "buffer_size": 1e10}
    json.dump({"train_micro_batch_size_per_gpu": 1, "fp16": {"enabled": half}, "optimizer": {"type": "Adam"}, "zero_optimization": zero,
               "shardlab": {"recompute": "full", "attention": "materialised"}}, open(path, "w"))


def largest(fits, ladder):
    """The last rung that fits, and what it said; rungs grow."""
    low, high, best = -1, len(ladder), None
    while high - low > 1:
        middle = (low + high) // 2
        said = fits(*ladder[middle])
        if said:
            low, best = middle, said
        else:
            high = middle
    return low, best


def predicted(shardlab, root, out, cluster, world, strategy):
    def fits(layers, width):
        parameters = model(f"{out}/model.json", layers, width, 50257, 1024)
        config(f"{out}/config.json", strategy, True, out)
        done = subprocess.run([shardlab, "predict", "--model", f"{out}/model.json", "--config", f"{out}/config.json", "--cluster",
                               cluster, "--world", str(world), "--quiet", "--json", f"{out}/record.json"],
                              stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(done.stderr)
        record = json.load(open(f"{out}/record.json"))
        memory = record["memory"]
        device = memory["device"]["peak_bytes"] + memory["device"]["context_bytes"]
        node = {space: sum(r["peak_bytes"] for r in memory[space]["ranks"]) for space in ("host", "nvme")}
        if device > 31.74 * 2**30 or node["host"] > HOST or node["nvme"] > NVME:
            return None
        return parameters, device, node["host"], node["nvme"], record["model_flops_per_step"] / record["step_time_s"] / world
    at, said = largest(fits, LADDER)
    if said is None:
        return "less than 0.3 B", "", "", "", ""
    parameters, device, host, nvme, flops = said
    return (f"{'at least ' if at + 1 == len(LADDER) else ''}{parameters / 1e9:.1f} B", f"{device / 2**30:.1f}",
            f"{host / 2**30:.0f}", f"{nvme / 2**30:.0f}", f"{flops / 1e12:.1f}")


def memory_here():
    """Bytes that no process uses, or that the system gives up for one that asks."""
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))


def measured(shardlab, root, out, arena, strategy):
    job = ["--model", f"{out}/model.json", "--config", f"{out}/config.json", "--seq", "64", "--device-memory", arena]
    memory = memory_here() - float(os.environ.get("LEAVE_MEMORY", 4e9))
    disk = shutil.disk_usage(out).free - float(os.environ.get("LEAVE_DISK", 25e9))
    ends = {}

    def fits(layers, width):
        """What ends it is kept by rung, so that the one behind the largest that fits can be told."""
        parameters = model(f"{out}/model.json", layers, width, 256, 64)
        config(f"{out}/config.json", strategy, False, f"{out}/nvme")
        if subprocess.run([shardlab, "check", *job, "--quiet"], stderr=subprocess.DEVNULL).returncode != 0:
            ends[layers, width] = "device"
            return None
        subprocess.run([shardlab, "predict", *job, "--quiet", "--json", f"{out}/record.json"], stderr=subprocess.DEVNULL, check=True)
        record = json.load(open(f"{out}/record.json"))["memory"]
        arenas = {space: record[space]["peak_bytes"] for space in ("device", "host", "nvme")}
        if arenas["device"] + record["device"]["context_bytes"] + arenas["host"] > memory:
            ends[layers, width] = "host memory"
        elif arenas["nvme"] > disk:
            ends[layers, width] = "disk"
        return None if (layers, width) in ends else (parameters, layers, width)
    at, said = largest(fits, SMALL)
    if said is None:
        return "none", "", "", "", "", "", ends[SMALL[0]]
    fits(*said[1:])
    done = subprocess.run([shardlab, "validate", *job, "--steps", "2", "--time-tolerance", "1000", "--data",
                           f"{root}/examples/corpus.txt", "--quiet", "--json", f"{out}/comparison.json"],
                          stderr=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    rows = {r["section"] + " " + r["name"]: r for r in json.load(open(f"{out}/comparison.json"))["rows"]}
    judged = [r for r in rows.values() if r["rule"] == "exact"]
    wrong = [r for r in judged if r["verdict"] != "ok"]
    peaks = [rows[f"memory {space} peak"]["measured"] / 2**20 for space in ("device", "host", "nvme")]
    return (f"{said[0] / 1e6:.0f} M ({said[1]} x {said[2]})", *(f"{p:.0f}" for p in peaks), f"{len(judged) - len(wrong)} of {len(judged)}",
            f"{rows['time step']['measured']:.3g}", ends[SMALL[at + 1]] if at + 1 < len(SMALL) else "the ladder")


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    print()


def here(shardlab, root, out, arena):
    print(f"An arena of {arena} here, measured:\n")
    table(["strategy", "largest model", "device MiB", "host MiB", "NVMe MiB", "bytes and calls as predicted", "seconds a step",
           "ended by"],
          ((s[0], *measured(shardlab, root, out, arena, s)) for s in STRATEGIES))


def main():
    shardlab, root, out, arena = sys.argv[1:5]
    cluster = f"{root}/experiments/offload_limit/dgx2_nvme.json"
    if os.environ.get("PREDICT") == "no":
        here(shardlab, root, out, arena)
        return
    for world, what in ((1, "One V100-32GB of a DGX-2"), (16, "One DGX-2, 16 V100-32GB")):
        print(f"{what}, predicted:\n")
        table(["strategy", "largest model", "device GiB", "host GiB a node", "NVMe GiB a node", "TFLOPS a GPU"],
              ((s[0], *predicted(shardlab, root, out, cluster, world, s)) for s in STRATEGIES))
    if os.environ.get("MEASURE") != "no":
        here(shardlab, root, out, arena)


if __name__ == "__main__":
    main()
