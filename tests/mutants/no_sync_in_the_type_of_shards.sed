# FSDP under no_sync sums whole gradients in the type of its shards.
# file: core/plan/strategy.c
# tests: test_hybrid_traffic
/if (s->no_sync) c->grad_accum_dtype/d
