# Formulas take the optimizer of stage 0 for one that shards nothing, whatever the framework's does.
# file: fast/fast.c
# tests: test_fast_odd
s/s.dp > 1 \&\& way->strategy.shard_optimizer/s.dp > 1 \&\& c->zero_stage > 0/
