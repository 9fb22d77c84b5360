# Megatron-LM's optimizer reads 16-bit gradients as they are.
# file: core/plan/strategy.c
# tests: test_state_bytes
s/config->grad_accum_dtype != SL_F32 ? SL_COPIES_FLOAT : SL_COPIES_NONE;/config->grad_accum_dtype == SL_F64 ? SL_COPIES_FLOAT : SL_COPIES_NONE;/
