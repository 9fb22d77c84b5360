# Dropped probabilities cost nothing.
# file: core/plan/kernels.c
# tests: test_kernel_sets
s/return op->dropout > 0;/return op->dropout > 1;/
