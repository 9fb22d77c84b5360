"""Draws configurations at random, the same ones for the same seed: a model, a DeepSpeed file, a cluster and flags.

Most are legal; every ninth is then spoilt (spoil.py), for refusals are behaviour, too. What matters most comes from decks, so
that each value comes often enough; the rest is thrown. A value that has a flag stands in the file or on the command line."""
import copy
import json
import random
import re
from pathlib import Path

from same import spoil
from same.deck import Deck
from same.models import Clusters, Models
from same.strategies import (ALONE, HPZ, MAY_SHARD, MEGATRON, MICS, MUST_SHARD, NO_PP, NO_SP, PLAIN, SCHEDULES,
                             allows, micro_batches, strategies)

PYTORCHS = Path(__file__).parents[1] / "golden" / "schedules"
PRECISIONS = {"fp32": {}, "tf32": {}, "bf16": {"bf16": {"enabled": True}}, "fp8": {"bf16": {"enabled": True}},
              "fp16": {"fp16": {"enabled": True, "loss_scale_window": 500}},
              "fp16, static scale": {"fp16": {"enabled": True, "loss_scale": 128}}}
OPTIMIZERS = {
    "AdamW": {"type": "AdamW", "params": {"lr": 3e-4, "betas": [0.9, 0.95], "weight_decay": 0.1}},
    "Adam": {"type": "Adam", "params": {"lr": 1e-3, "adam_w_mode": True}},
    "Adam, L2": {"type": "Adam", "params": {"lr": 1e-3, "adam_w_mode": False, "weight_decay": 0.01}},
    "SGD": {"type": "SGD", "params": {"lr": 0.05}},
    "SGD, momentum": {"type": "SGD", "params": {"lr": 0.05, "momentum": 0.9, "nesterov": True}},
    "default": None,
}
RATES = {
    "constant": None,
    "WarmupLR": {"warmup_max_lr": 1e-3, "warmup_num_steps": 7, "warmup_type": "linear"},
    "WarmupDecayLR": {"total_num_steps": 50, "warmup_num_steps": 5},
    "WarmupCosineLR": {"total_num_steps": 50, "warmup_num_steps": 5},
    "OneCycle": {"cycle_min_lr": 1e-4, "cycle_max_lr": 1e-3, "cycle_first_step_size": 10},
    "LRRangeTest": {"lr_range_test_min_lr": 1e-4, "lr_range_test_step_size": 3},
}
SPOIL_EVERY = 9
MOST_WORK, MOST_TRACED = 8000, 2000  # layers x micro-batches x ranks, so that 200 configurations take minutes
FLAG_OF = {"make_vocab_size_divisible_by": "--make-vocab-size-divisible-by", "seq_len": "--seq",
           "stage": "--zero-stage", "train_micro_batch_size_per_gpu": "--micro-batch",
           "gradient_accumulation_steps": "--grad-accum", "train_batch_size": "--train-batch"}
FLAG_OF.update({key: "--" + key.replace("_", "-") for key in (
    "tp", "pp", "virtual_stages", "schedule", "stages", "sequence_parallel", "recompute", "recompute_modules",
    "recompute_every", "shard_size", "attention", "tf32", "fuse_epilogues", "preset", "seed")})


class Configuration:
    """`facts`: what was drawn, by dimension; `spoilt`: how it was spoilt, or None; `for_predict`: flags of predict alone."""

    def __init__(self, number):
        self.number, self.facts, self.files, self.flags, self.ds, self.for_predict = number, {}, {}, {}, {}, []
        self.spoilt = None

    def arguments(self):
        return [word for flag, value in self.flags.items() for word in ((flag,) if value is None else (flag, str(value)))]

    def contents(self):
        """Its input files, as bytes."""
        texts = {name: value if isinstance(value, str) else json.dumps(value, indent=1) for name, value in self.files.items()}
        return {name: text.encode() for name, text in {**texts, "ds.json": json.dumps(self.ds, indent=1)}.items()}

    def label(self):
        f = self.facts
        cut = f"tp {f['tp']} pp {f['pp']} dp {f['dp']}"
        words = [f["model"], f["strategy"], cut, f["schedule"], f["precision"], f["cluster"]]
        return f"#{self.number} " + ", ".join(words) + (f", spoilt: {self.spoilt}" if self.spoilt else "")


class Draw:
    def __init__(self, seed):
        self.rng = rng = random.Random(seed)
        self.models, self.clusters, self.strategies = Models(rng), Clusters(rng), strategies(rng)
        self.precisions, self.schedules = Deck(rng, PRECISIONS), Deck(rng, SCHEDULES)
        self.optimizers, self.rates = Deck(rng, OPTIMIZERS), Deck(rng, [*RATES, "constant", "constant"])
        self.spoilers, self.next = Deck(rng, spoil.SPOILERS), 0

    def chance(self, probability):
        return self.rng.random() < probability

    def configuration(self):
        c = Configuration(self.next)
        self.next += 1
        spoilt = c.number % SPOIL_EVERY == SPOIL_EVERY - 1
        c.strategy = self.rng.choice(PLAIN) if spoilt else self.strategies.deal()
        c.model = self.models.deal(huge=not c.strategy.has(ALONE))  # nobody trains 175 billion parameters with DDP
        self.put_degrees(c)
        self.put_batch(c)
        self.put_types(c)
        self.put_model_and_cluster(c)
        self.put_strategy(c)
        self.put_training(c)
        self.put_pipeline(c)
        if c.model.transformer:
            self.put_transformer(c)
        self.put_run(c)
        if spoilt:
            c.spoilt = self.spoilers.deal()
            spoil.SPOILERS[c.spoilt](c)
        return c

    def put(self, c, section, key, value):
        """In the file, or as a flag where there is one."""
        flag = FLAG_OF.get(key) if value is not False else None
        if flag and self.chance(0.5):
            c.flags[flag] = None if value is True else ",".join(map(str, value)) if isinstance(value, list) else value
        else:
            (c.ds.setdefault(section, {}) if section else c.ds)[key] = value

    def put_degrees(self, c):
        """Schedule, then how the world is cut: what the model and the framework let, odd numbers of ranks among them."""
        s, rng = c.strategy, self.rng
        schedule = self.schedules.deal(lambda card: allows(s, card, c.model.layers))
        least, most, _ = SCHEDULES[schedule]
        chunks = rng.randint(least, min(most, c.model.layers))
        stages = [pp for pp in (1, 2, 3, 4, 5, 6, 8) if pp * chunks <= c.model.layers]
        pp = 1 if s.has(ALONE, NO_PP) or (self.chance(0.15) and not (s.has(MEGATRON) and chunks > 1)) else rng.choice(stages)
        if pp == 1 and s.has(MEGATRON):  # interleaving wants stages
            schedule, chunks = "1f1b", 1
        tp = 1 if s.has(ALONE) or self.chance(0.2) else rng.choice(c.model.tp)
        few = [n for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 48) if self.goes_over(s, n)]
        dp = rng.choice([n for n in few if n * tp * pp * c.model.layers <= MOST_WORK] or few[:1])
        c.chunks, c.tp, c.pp, c.dp, c.world = chunks, tp, pp, dp, tp * pp * dp
        c.facts.update({"schedule": schedule, "tp": tp, "pp": pp, "dp": dp, "cut three ways": min(tp, pp, dp) > 1})
        c.flags["--world"] = c.world

    @staticmethod
    def goes_over(strategy, dp):
        if strategy.has(MUST_SHARD):
            return any(dp % n == 0 for n in range(2, dp))
        return dp > 1 or not strategy.has(HPZ)

    def put_batch(self, c):
        """Two of the three numbers that DeepSpeed ties together, or all, or the batch alone."""
        rng = self.rng
        legal = micro_batches(c.strategy, c.facts["schedule"], c.pp)
        steps = rng.choice([m for m in legal if m * c.model.layers * c.world <= MOST_WORK] or legal[:1])
        c.csv = self.pytorchs(c)
        if c.csv:
            steps = int(re.search(r"_m(\d+)", c.csv.stem).group(1))
        c.accumulate, c.micro = steps, rng.randint(1, 4)
        values = {"train_batch_size": steps * c.micro * c.dp, "train_micro_batch_size_per_gpu": c.micro,
                  "gradient_accumulation_steps": steps}
        left_out = rng.choice([None, *values])
        if left_out != "gradient_accumulation_steps" and steps == 1 and self.chance(0.3):
            values = {"train_batch_size": values["train_batch_size"]}
        for key, value in values.items():
            if key != left_out or len(values) == 1:
                self.put(c, None, key, value)
        c.facts["accumulation"] = steps > 1

    def pytorchs(self, c):
        """A file of one of PyTorch's own schedules for these ranks, in place of a name."""
        if c.strategy.preset or c.pp == 1 or not self.chance(0.4):
            return None
        files = sorted(PYTORCHS.glob(f"{c.facts['schedule']}_p{c.pp}_v{c.chunks}_m*.csv"))
        return self.rng.choice(files) if files else None

    def put_types(self, c):
        c.precision = self.precisions.deal()
        c.facts["precision"] = c.precision
        c.ds.update(copy.deepcopy(PRECISIONS[c.precision]))  # a spoiler may write into it
        if c.precision == "tf32":
            self.put(c, "shardlab", "tf32", True)
        if c.precision == "fp8":
            self.put_fp8(c)
        if c.precision == "fp32" and self.trains_alike(c) and self.chance(0.7):
            c.precision = self.rng.choice(["bf16", "fp16"])  # of products alone; the cluster must have it
            c.facts["precision"] = c.precision + " by autocast"
            c.ds["torch_autocast"] = {"enabled": True, "dtype": c.precision}
            return
        if self.chance(0.25):
            c.ds["communication_data_type"] = self.rng.choice(["fp32", "bf16", "fp16"])
        if c.precision not in ("fp32", "tf32") and self.chance(0.25):
            c.ds["data_types"] = {"grad_accum_dtype": "fp32"}

    @staticmethod
    def trains_alike(c):
        """Does torch.autocast stand beside it?"""
        presets = ("ddp", "accelerate-ddp", "zero-redundancy-optimizer")
        return c.model.transformer and c.tp == c.pp == 1 and (c.strategy.preset in presets or (c.world == 1 and not c.strategy.preset))

    def put_fp8(self, c):
        """Products of linear layers in fp8, and how scales are made."""
        c.ds.setdefault("shardlab", {})["fp8"] = True
        for key, values in (("fp8_format", ["hybrid", "e4m3"]), ("fp8_margin", [0, 1, 3]), ("fp8_amax_history_len", [1, 7, 1024]),
                            ("fp8_amax_compute_algo", ["max", "most_recent"])):
            if self.chance(0.4):
                c.ds["shardlab"][key] = self.rng.choice(values)

    def put_model_and_cluster(self, c):
        model, (cluster, content) = c.model, self.clusters.deal(c.world, c.precision.split(",")[0])
        c.facts.update(family=model.family, model=f"{model.family} file" if model.file else model.name, cluster=cluster)
        if model.file:
            c.files["model.json"] = model.file
        c.flags["--model"] = "model.json" if model.file else model.name
        if content:
            c.files["cluster.json"] = content
        c.flags["--cluster"] = "cluster.json" if content else cluster
        c.flags["--config"] = "ds.json"

    def put_strategy(self, c):
        s = c.strategy
        c.facts["strategy"] = s.name
        if s.preset:
            self.put(c, "shardlab", "preset", s.preset)
        stage = self.rng.choice(s.stages) if s.stages else None
        if stage is not None:
            self.put(c, "zero_optimization", "stage", stage)
        if not stage and "deepspeed" in (s.preset or "deepspeed"):
            c.ds.pop("data_types", None)  # DeepSpeed without ZeRO refuses another type than the parameters'
        if stage is not None or self.chance(0.3):
            self.put_buckets(c, stage)
        self.put_groups(c, stage)
        offload = not s.preset and stage and self.chance(0.2)
        if offload:
            c.ds.setdefault("zero_optimization", {})["offload_optimizer"] = {"device": "cpu"}
        if offload and stage == 3 and self.chance(0.5):
            c.ds["zero_optimization"]["offload_param"] = {"device": "cpu"}
        c.facts["offload"] = bool(offload)

    def put_buckets(self, c, stage):
        """Buckets from a thousandth of the model to more than it has, and ZeRO-3's thresholds."""
        rng, zero = self.rng, c.ds.setdefault("zero_optimization", {})
        sizes = [1000, 4001, 100003, 500000000] if c.model.file else [20000003, 200000000, 500000000]
        for key, values in (("overlap_comm", [False, True]), ("reduce_bucket_size", sizes), ("allgather_bucket_size", sizes)):
            if self.chance(0.7):
                zero[key] = c.facts[key] = rng.choice(values)
        if stage in (1, 2) and self.chance(0.4):
            key = rng.choice(["reduce_scatter", "use_multi_rank_bucket_allreduce"])
            zero[key] = c.facts[key] = key != "reduce_scatter"
        if stage == 3:
            zero["stage3_param_persistence_threshold"] = rng.choice([0, 50, 1000, 100000])
            zero["stage3_prefetch_bucket_size"] = rng.choice([0, 3000, 50000000])
            zero["stage3_max_reuse_distance"] = rng.choice([0, 6000, 1000000000])

    def put_groups(self, c, stage):
        """Sharding inside part of the data-parallel ranks: hybrid, MiCS, ZeRO++'s second copy."""
        s, sizes = c.strategy, [n for n in range(2, c.dp + 1) if c.dp % n == 0]
        may = s.has(MAY_SHARD) or (not s.preset and stage and not s.has(HPZ))
        if s.has(HPZ):
            c.ds["zero_optimization"]["zero_hpz_partition_size"] = self.rng.choice(sizes)
        elif s.has(MUST_SHARD) or (may and sizes and self.chance(0.5)):
            size = self.rng.choice(sizes[:-1] if s.has(MUST_SHARD) else sizes)
            key = ("zero_optimization", "mics_shard_size") if s.has(MICS) else ("shardlab", "shard_size")
            self.put(c, *key, size)
            c.facts["shard groups"] = True

    def put_training(self, c):
        rng, megatron = self.rng, c.strategy.has(MEGATRON)
        optimizer = self.optimizers.deal(lambda card: card != "Adam, L2" or not megatron)
        rate = self.rates.deal()
        clip = rng.choice([None, 0.0, 0.5])
        c.facts.update(optimizer=optimizer, rate=rate, clipping=clip)
        if OPTIMIZERS[optimizer]:
            c.ds["optimizer"] = copy.deepcopy(OPTIMIZERS[optimizer])
        if RATES[rate]:
            c.ds["scheduler"] = {"type": rate, "params": dict(RATES[rate])}
        if clip is not None:
            c.ds["gradient_clipping"] = clip
        if self.chance(0.1):
            c.ds["wall_clock_breakdown"] = True  # known, not modelled: a warning
        self.put(c, "shardlab", "seed", rng.randint(0, 10**6))

    def put_pipeline(self, c):
        self.put(c, "shardlab", "tp", c.tp)
        self.put(c, "shardlab", "pp", c.pp)
        self.put(c, "shardlab", "virtual_stages", c.chunks)
        if c.csv:
            c.files["schedule.csv"] = c.csv.read_text()
        self.put(c, "shardlab", "schedule", "schedule.csv" if c.csv else c.facts["schedule"])
        c.facts["schedule from a file"] = bool(c.csv)
        words = ["uniform"] if c.strategy.has(MEGATRON) else ["uniform", "parameters", "flops"]
        if c.pp * c.chunks > 1:
            stages = self.by_hand(c) if self.chance(0.25) else self.rng.choice(words)
            self.put(c, "shardlab", "stages", stages)
            c.facts["stages"] = "by hand" if isinstance(stages, list) else stages

    def by_hand(self, c):
        """Layers of each stage: any cut of the model that leaves every stage one."""
        parts = c.pp * c.chunks
        cuts = sorted(self.rng.sample(range(1, c.model.layers), parts - 1))
        return [b - a for a, b in zip([0, *cuts], [*cuts, c.model.layers])]

    def put_transformer(self, c):
        rng, s, positions = self.rng, c.strategy, c.model.positions
        seq = rng.choice([positions, rng.randint(8, positions)])
        self.put(c, "shardlab", "seq_len", seq)
        cut = c.tp > 1 and not s.has(NO_SP) and c.micro * seq % c.tp == 0 and self.chance(0.7)
        if cut:
            self.put(c, "shardlab", "sequence_parallel", True)
        elif c.tp > 1 and not s.has(MEGATRON):
            self.put(c, "shardlab", "tp_vocab", rng.choice(["parallel", "gathered", "whole", "autotp"]))
        flash, masks = self.chance(0.35), self.chance(0.3)
        if flash:
            self.put(c, "shardlab", "attention", "flash")
        if masks:
            self.put(c, "shardlab", "store_dropout_masks", True)
        if self.chance(0.3):
            self.put(c, "shardlab", "make_vocab_size_divisible_by", rng.randint(2, 130))
        c.facts.update({"sequence parallel": bool(cut), "flash": flash, "stored masks": masks})
        self.put_recompute(c)

    def put_recompute(self, c):
        rng, words = self.rng, ["none", "selective", "full", "selective_op"]
        a_rank = c.pp > 1 and self.chance(0.3)
        word = [rng.choice(words) for _ in range(c.pp)] if a_rank else rng.choice(words)
        self.put(c, "shardlab", "recompute", word)
        self.put(c, "shardlab", "recompute_modules", rng.choice([["core_attn"], ["layernorm"], ["core_attn", "layernorm"]]))
        if not c.strategy.has(NO_SP, MEGATRON) and self.chance(0.3):
            self.put(c, "shardlab", "recompute_every", rng.randint(2, 3))
        c.facts["recompute"] = "by rank" if a_rank else word

    def put_run(self, c):
        """What is no part of the plan: epilogues, how far ahead a stage is unsharded, and how predict runs."""
        rng = self.rng
        self.put(c, "shardlab", "limit_all_gathers", self.chance(0.5))
        self.put(c, "shardlab", "no_sync", self.chance(0.3))
        self.put(c, "shardlab", "gradient_as_bucket_view", c.number % 3 == 0)
        self.put(c, "shardlab", "unshard_ahead", rng.randint(1, 3))
        fuse = rng.choice(["gpu", "always", "never"])
        self.put(c, "shardlab", "fuse_epilogues", fuse)
        c.facts["epilogues"] = fuse
        whole = c.world <= 16 and c.model.layers * c.accumulate <= 100 and self.chance(0.5)
        c.facts["every rank"] = whole
        c.for_predict = ["--steps", str(rng.randint(1, 3)), "--runs", str(rng.choice([1, 5]))] + ["--no-fold"] * whole
        c.facts["traced"] = c.model.layers * c.accumulate * c.world <= MOST_TRACED
        if c.facts["traced"]:
            c.for_predict += ["--trace", "trace.json"]
