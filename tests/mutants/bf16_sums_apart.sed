# Products do not add to sums in the type of their factors.
# file: core/lower/bind.c
# tests: test_kernel_set_rows
s/(how == SL_ACCUMULATE_FUSED_ANY || makes_fp32(l, d, i))/makes_fp32(l, d, i)/
