# FSDP keeps gradients in the type that the configuration says.
# file: core/plan/strategy.c
# tests: test_state_bytes
/  if (s->casts_shards) c->grad_accum_dtype/d
