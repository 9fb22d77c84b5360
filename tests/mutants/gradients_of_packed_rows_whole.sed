# The gradients of q, k and v of packed rows are one tensor from the start.
# file: core/plan/kernels.c
# tests: test_kernel_rows
s/return !(op->flags \& SL_OP_APART);/return false;/
