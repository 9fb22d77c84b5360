# What is larger than a format's numbers becomes NaN.
# file: kernels/fp8_code.h
# tests: test_kernels_fp8
s/code < most ? code : most/code < most ? code : 0x7f/
