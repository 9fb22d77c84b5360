# bf16 beside fp32 gradients at stage 0 is not refused.
# file: core/plan/refusals.c
# tests: test_gradient_types
s/ && !sl_config_since(c, 0, 18, 5)) return SL_OK;/) return SL_OK;/
