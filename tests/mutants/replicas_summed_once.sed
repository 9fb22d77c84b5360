# FSDP's replicas are summed once, at the end of the step.
# file: core/plan/strategy.c
# tests: test_hybrid_traffic
s/s->sums_replicas_by_unit = s->shard_size > 0/s->sums_replicas_by_unit = s->shard_size < 0/
