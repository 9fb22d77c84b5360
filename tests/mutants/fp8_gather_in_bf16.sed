# Weights in fp8 are gathered in 16 bits.
# file: core/lower/zero_ops.c
# tests: test_fp8_weights
s/gathers_fp8(l, u) ? SL_F8 : l->dtype/gathers_fp8(l, u) ? l->dtype : l->dtype/
