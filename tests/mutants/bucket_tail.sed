# Where the flat gradient is all-reduced, the last element of each bucket is left out.
# file: core/lower/reduce.c
# tests: grid3d_2 golden_2
s/return sl_build_part(l, l->homes->flat, SL_READ_WRITE, b->lo, b->count);/return sl_build_part(l, l->homes->flat, SL_READ_WRITE, b->lo, b->count - !l->plan->strategy.shard_optimizer);/
