# Gradients of gate and up are one tensor for free where these are.
# file: core/plan/kernels.c
# tests: test_packing
s/return op->flags \& SL_OP_PACKED_GATE;/return false;/
