"""Ways to shard for the draw: ZeRO stages without a preset, and every preset, with what its framework lets go together.

The rules are those of tests/mpi/grid3d_draw.c; core/plan/refusals.c is where they come from."""
from same.deck import Deck

ALONE, NO_PP, NO_SP, ONE_STAGE, MEGATRON, MAY_SHARD, MUST_SHARD, MICS, HPZ = (
    "data parallel only", "no pipeline", "no sequence parallelism, every layer recomputed alike", "1f1b or zb-h1, one stage a rank",
    "1f1b or interleaved, dealt evenly", "shard_size", "always shard_size", "in DeepSpeed's word",
    "zero_hpz_partition_size")


class Strategy:
    """`stages`: what zero_optimization.stage may say; empty: it is left out. `preset`: None for ZeRO alone."""

    def __init__(self, name, preset, stages, *rules):
        self.name, self.preset, self.stages, self.rules = name, preset, stages, set(rules)

    def has(self, *rules):
        return not self.rules.isdisjoint(rules)


PLAIN = [Strategy(f"zero-{stage}", None, [stage]) for stage in range(4)] + [Strategy("zero-3-hpz", None, [3], HPZ)]
PRESETS = [Strategy(row[0], row[0], *row[1:]) for row in [
    ("deepspeed-0", [0], NO_SP, ONE_STAGE),
    ("deepspeed-1", [1], NO_SP, ONE_STAGE),
    ("deepspeed-2", [2], NO_SP, NO_PP),
    ("deepspeed-3", [3], NO_SP, NO_PP),
    ("deepspeed-pipeline", [0, 1], NO_SP, ONE_STAGE),
    ("mics", [3], NO_SP, NO_PP, MUST_SHARD, MICS),
    ("zero++", [3], NO_SP, NO_PP, HPZ),
    ("ddp", [], ALONE),
    ("zero-redundancy-optimizer", [], ALONE),
    ("fsdp", [], ALONE),
    ("fsdp-shard-grad-op", [], ALONE),
    ("fsdp-hybrid-shard", [], ALONE, MUST_SHARD),
    ("fsdp-hybrid-shard-zero2", [], ALONE, MUST_SHARD),
    ("fsdp2", [], MAY_SHARD),
    ("fsdp2-no-reshard", [], MAY_SHARD),
    ("megatron-lm", [], MEGATRON),
    ("megatron-distributed-optimizer", [], MEGATRON, MAY_SHARD),
    ("megatron-fsdp", [], MEGATRON, NO_PP, MAY_SHARD),
    ("accelerate-ddp", [], ALONE),
    ("accelerate-fsdp", [], NO_PP, MAY_SHARD),
    ("accelerate-deepspeed", [0, 1, 2, 3], NO_SP, NO_PP),
    ("accelerate-megatron", [], MEGATRON),
]]
NAMES = [s.name for s in PLAIN + PRESETS]


def strategies(rng):
    return Deck(rng, PLAIN * 2 + PRESETS)


# name: (least and most stages a rank, whether micro-batches come in equal rounds)
SCHEDULES = {"gpipe": (1, 1, False), "1f1b": (1, 1, False), "interleaved": (2, 3, True), "looped-bfs": (2, 3, False),
             "zb-h1": (1, 1, False), "zbv": (2, 2, False), "interleaved-zb": (2, 3, True)}


def allows(strategy, schedule, layers):
    """Whether the strategy takes a schedule at all, and the model has a layer for each stage of one rank."""
    if SCHEDULES[schedule][0] > layers:
        return False
    if strategy.has(ONE_STAGE):
        return schedule in ("1f1b", "zb-h1")
    if strategy.has(ALONE, NO_PP):
        return schedule == "1f1b"
    return schedule in ("1f1b", "interleaved") or not strategy.has(MEGATRON)


def micro_batches(strategy, schedule, pp):
    """The numbers of micro-batches that go with it, of 1 to 12."""
    def goes(m):
        rounds = m // pp if m > pp else 1
        if SCHEDULES[schedule][2] and m % rounds != 0:
            return False
        if strategy.has(MEGATRON) and schedule == "interleaved" and m % pp != 0:
            return False
        return m >= pp or not (strategy.preset or "").startswith("fsdp2")
    return [m for m in range(1, 13) if goes(m)]
