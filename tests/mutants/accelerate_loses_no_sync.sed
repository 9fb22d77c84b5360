# What Accelerate never does, a reduction of every micro-batch, is written as what it always does.
# file: core/interop/accelerate_write.c
# tests: test_written
s/if (accumulates(w) \&\& !is_on(w, "shardlab.no_sync"))$/if (accumulates(w) \&\& number_at(w, "shardlab.tp") < 0)/
