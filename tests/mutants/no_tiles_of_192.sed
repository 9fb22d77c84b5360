# Hopper's products have no tiles of 192.
# file: cost/gemm.c
# tests: test_cost_kernels
s/{128, 192, .96}, {192, 128, .96}, //
