# Gradients are unscaled in bf16 too.
# file: core/plan/kernels.c
# tests: test_kernel_sets
s/return config->param_dtype == SL_F16;/return true;/
