# A framework that all-reduces gradients of a partitioned optimizer reduce-scatters them.
# file: core/plan/strategy.c
# tests: test_one_reduction
s/  s->sums_whole = (dp > 1 || alone) \&\& s->shard_optimizer/  s->sums_whole = dp < 1 \&\& s->shard_optimizer/
