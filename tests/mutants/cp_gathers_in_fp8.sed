# What context parallelism alone shards is gathered in 8 bits, too.
# file: core/lower/flat_gather.c
# tests: test_torch_blocks
s/ \&\& l->plan->shard > l->plan->cp \&\&/ \&\&/
