# FSDP's gradients of another type arrive in a buffer as large as the shard.
# file: core/lower/reduce.c
# tests: test_hybrid_traffic
s/passes |= moves \&\& sl_gradients_recast/passes |= moves \&\& l->homes->by_call \&\& sl_gradients_recast/
