# Norms are in Python where they are fused.
# file: core/plan/kernels.c
# tests: test_kernel_sets
s/return !config->sl.fused_norm;/return true;/
