# Megatron-LM's optimizer copies gradients that are fp32 where the file does not say so.
# file: core/plan/strategy.c
# tests: test_state_bytes
s/    return half \&\& !s->fp32_gradients \&\&/    return half \&\&/
