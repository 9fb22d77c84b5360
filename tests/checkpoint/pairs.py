"""Save under one plan, go on under another.

    pairs.py SHARDLAB ROOT [--pairs N] [--same N] [--seed S]

A pair: a run takes 8 steps and saves behind the third, while it goes on. Another run, of another number of ranks, ZeRO stage, tp, pp,
schedule, micro-batch and offload, resumes there and takes the other five: its losses must be those of the first within 1e-6, in fp32.
One of the same: the plan is the same, in fp32, bf16, fp16 and fp8. Then losses, norms, learning rates and every byte of the checkpoint behind
the last step must be equal, but for the name of the job in its manifest and the checksum over it.
A line for each that goes otherwise, with what repeats it; exit status 1 when there is one.
"""
import argparse
import filecmp
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

STEPS, SAVED, BATCH = 8, 3, 24
MODELS = [  # file, layers, what its heads can be dealt to, sequence
    ("grid_gpt2", 4, (1, 2, 4), 11), ("grid_gpt2_dropout", 8, (1, 2, 3), 9), ("grid_llama", 4, (1, 2), 11),
    ("grid_llama_tied", 8, (1, 3), 9), ("grid_mlp", 8, (1, 2, 3, 4), 0)]
OPTIMIZERS = [{"type": "AdamW", "params": {"lr": 0.003, "weight_decay": 0.1}}, {"type": "Adam", "params": {"lr": 0.003}},
              {"type": "SGD", "params": {"lr": 0.05, "momentum": 0.9}}, {"type": "SGD", "params": {"lr": 0.05}}]
TYPES = {"fp32": {}, "bf16": {"bf16": {"enabled": True}},
         "fp16": {"fp16": {"enabled": True, "initial_scale_power": 21, "hysteresis": 1, "loss_scale_window": 3}},  # some steps overflow
         "fp8": {"bf16": {"enabled": True}, "shardlab": {"fp8": True, "fp8_amax_history_len": 2}}}


NVME = {"device": "nvme", "nvme_path": "."}


def draw_offload(random_, stage, adam):
    """Optimizer and parameters each in device memory, on the CPU or on NVMe, as far as the ZeRO stage has it; on NVMe sub-groups of states end
    anywhere, and parameters pass through few buffers."""
    zero = {}
    optimizer = random_.choice([None, "cpu", "nvme"] if stage == 3 else [None, "cpu"] if stage > 0 else [None])
    params = [None] if stage < 3 else [None, "cpu"] if optimizer is None else [None, "cpu", "nvme"]  # NVMe beside the device is refused
    param = random_.choice(params)
    if optimizer is not None:
        zero["offload_optimizer"] = dict(NVME) if optimizer == "nvme" else {"device": "cpu"}
    if optimizer is not None and stage == 3 and adam and random_.random() < 0.3:
        zero["offload_optimizer"]["ratio"] = random_.choice([0.3, 0.5])
    if optimizer == "nvme" and random_.random() < 0.3:
        zero["offload_optimizer"].update(pipeline_read=True, pipeline_write=True)
    if optimizer is not None and stage == 3 and (optimizer == "nvme" or random_.random() < 0.5):
        zero["sub_group_size"] = random_.choice([500, 2000, 3000])
    if param is not None:
        zero["offload_param"] = {"device": "cpu"}
    if param == "nvme":
        zero["offload_param"] = {**NVME, "max_in_cpu": random_.choice([0, 1500]), "buffer_count": random_.choice([2, 5])}
    return zero


def divisors(n, most):
    return [d for d in range(1, most + 1) if n % d == 0]


def draw_plan(random_, training):
    layers, tps, adam = training.layers, training.tps, training.optimizer["type"] != "SGD"
    while True:
        world = random_.choice([1, 2, 2, 3, 4, 4, 6])
        tp = random_.choice([tp for tp in tps if world % tp == 0])
        pp = random_.choice(divisors(world // tp, min(layers, world // tp)))
        dp = world // tp // pp
        if BATCH % dp:
            continue
        accumulate = random_.choice([d for d in divisors(BATCH // dp, BATCH // dp) if d % pp == 0] or [0])
        if accumulate == 0:
            continue
        stage = random_.choice([0, 1, 2, 3, 3])
        plan = ["--world", world, "--tp", tp, "--pp", pp, "--zero-stage", stage, "--grad-accum", accumulate,
                "--micro-batch", BATCH // dp // accumulate]
        if pp > 1:
            plan += ["--schedule", random_.choice(["gpipe", "1f1b", "zb-h1"])]
        if dp > 1 and stage > 0 and random_.random() < 0.3:
            plan += ["--shard-size", random_.choice(divisors(dp, dp)[1:])]
        if random_.random() < 0.3:
            plan += ["--rank-order", random_.choice(["dp-tp-pp", "pp-dp-tp", "tp-pp-dp"])]
        if random_.random() < 0.2:
            plan += ["--make-vocab-size-divisible-by", 5]
        return [str(word) for word in plan], draw_offload(random_, stage, adam)


def text_of(plan):
    words, offload = plan
    return " ".join(words) + (f" {json.dumps(offload)}" if offload else "")


class Training:
    def __init__(self, args, random_, folder):
        self.args, self.folder = args, folder
        self.model, self.layers, self.tps, self.seq = random_.choice(MODELS)
        self.optimizer = random_.choice(OPTIMIZERS)
        self.clip = random_.choice([0, 0.3])

    def run(self, plan, type_, *flags):
        """Its record, or the error."""
        words, offload = plan
        config = f"{self.folder}/config.json"
        with open(config, "w") as file:
            json.dump({"train_batch_size": BATCH, "optimizer": self.optimizer, "gradient_clipping": self.clip,
                       "scheduler": {"type": "WarmupLR", "params": {"warmup_max_lr": self.optimizer["params"]["lr"], "warmup_num_steps": 6}},
                       "zero_optimization": offload, **TYPES[type_]}, file)
        root, mlp = self.args.root, self.seq == 0
        data = ["--data", "random:1000"] if mlp else ["--data", f"{root}/tests/golden/gpt2_odd/tokens.bin", "--seq", str(self.seq)]
        command = [self.args.shardlab, "measure", "--model", f"{root}/tests/mpi/{self.model}.json", "--config", config, *data, *words,
                   "--steps", str(STEPS), "--threads", "1", "--quiet", "--json", f"{self.folder}/record.json", *flags]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return None, " ".join(command[1:]) + ": " + done.stderr.strip()
        with open(f"{self.folder}/record.json") as file:
            return json.load(file), ""


def one_pair(args, random_, folder):
    training = Training(args, random_, folder)
    plans = [draw_plan(random_, training) for _ in range(2)]
    what = f"{training.model}, {training.optimizer['type']}, clip {training.clip}: {text_of(plans[0])} to {text_of(plans[1])}"
    whole, error = training.run(plans[0], "fp32", "--checkpoint", f"{folder}/saved", "--save-every", str(SAVED))
    if whole is None:
        return what, error
    rest, error = training.run(plans[1], "fp32", "--resume", f"{folder}/saved/step-{SAVED:06}")
    if rest is None:
        return what, error
    for step, (want, got) in enumerate(zip(whole["losses"][SAVED:], rest["losses"], strict=True)):
        if not abs(got - want) <= 1e-6 * abs(want):
            return what, f"loss of step {SAVED + step + 1}: {got}, expected {want}"
    return what, ""


def same(a, b):
    if os.path.basename(a) != "manifest.json":
        return filecmp.cmp(a, b, shallow=False)
    texts = [re.sub(rb'^\{"xxh3": "\w{16}",\n"job":"\w{16}",', b"", pathlib.Path(path).read_bytes()) for path in (a, b)]
    return texts[0] == texts[1]


def differences(a, b):
    names = sorted(os.listdir(a))
    if names != sorted(os.listdir(b)):
        return f"{names} and {sorted(os.listdir(b))}"
    return [name for name in names if not same(f"{a}/{name}", f"{b}/{name}")]


def one_same(args, random_, folder, number):
    training = Training(args, random_, folder)
    type_ = list(TYPES)[number % len(TYPES)]
    plan = draw_plan(random_, training)
    what = f"{training.model}, {type_}, {training.optimizer['type']}, clip {training.clip}: {text_of(plan)}"
    whole, error = training.run(plan, type_, "--checkpoint", f"{folder}/saved", "--save-every", str(SAVED))
    if whole is None:
        return what, error
    rest, error = training.run(plan, type_, "--checkpoint", f"{folder}/again", "--resume", f"{folder}/saved/step-{SAVED:06}")
    if rest is None:
        return what, error
    for key in ("losses", "grad_norms", "learning_rates"):
        if whole[key][SAVED:] != rest[key]:
            return what, f"{key}: {rest[key]}, expected {whole[key][SAVED:]}"
    unlike = differences(*(f"{folder}/{name}/step-{STEPS:06}" for name in ("saved", "again")))
    return what, f"the checkpoints behind the last step differ: {unlike}" if unlike else ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shardlab")
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--same", type=int, default=8)
    parser.add_argument("--seed", type=int, default=33)
    args = parser.parse_args()
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    failed = 0
    for number in range(args.pairs + args.same):
        random_ = random.Random(f"{args.seed}, {number}")
        folder = tempfile.mkdtemp(prefix="pairs-")
        try:
            if number < args.pairs:
                what, fault = one_pair(args, random_, folder)
            else:
                what, fault = one_same(args, random_, folder, number - args.pairs)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        failed += fault != ""
        print(f"{number}: {what}" + (f"\n  FAILED: {fault}" if fault else ""), flush=True)
    print(f"{args.pairs} pairs and {args.same} of the same plan, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
