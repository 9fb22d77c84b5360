# DeepSpeed's ZeRO-2 heeds grad_accum_dtype.
# file: core/plan/strategy.c
# tests: test_whole_sums test_state_bytes
/if (s->adds_parts_later) c->grad_accum_dtype/d
