# The largest magnitude of a step counts in all later ones.
# file: kernels/fp8.c
# tests: test_kernels_fp8
s/    amax\[i\] = 0;//
