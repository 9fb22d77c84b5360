# A transposed first operand has rows as long as the one that is not.
# file: cost/gemm.c
# tests: test_fit_gpu test_cost_kernels
s/return (a ? m : k) | (b ? k : n) | n;/return (a ? 0 * m + k : k) | (b ? k : n) | n;/
