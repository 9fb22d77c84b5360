# Rows of an odd number of 16-bit elements cost what even ones do.
# file: cost/gemm.c
# tests: test_cost_kernels
s/rows \* sl_dtype_bytes(dtype) % 4 != 0 \&\&/rows * sl_dtype_bytes(dtype) % 4 == 9 \&\&/
