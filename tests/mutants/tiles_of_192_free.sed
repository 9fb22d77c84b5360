# Tiles of 192 run as fast as the largest.
# file: cost/gemm.c
# tests: test_cost_kernels
s/192, .96}/192, 1}/g
s/128, .96}/128, 1}/g
