# Half-way numbers are rounded up.
# file: kernels/fp8_code.h
# tests: test_kernels_fp8
s/(1u << (cut - 1)) - 1 + (rebiased >> cut & 1)/(1u << (cut - 1))/
