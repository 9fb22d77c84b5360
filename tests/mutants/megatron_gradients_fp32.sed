# Megatron-LM's gradients are fp32, whatever its arguments say.
# file: core/plan/strategy.c
# tests: test_state_bytes
s/preset->row.fp32_gradients = false;/preset->row.fp32_gradients = true;/
