# What a bit loses is not kept.
# file: kernels/onebit.c
# tests: test_kernels_onebit onebit_3
s/    error\[i\] -= positive ? scale : -scale;/    error[i] = 0 * scale;/
