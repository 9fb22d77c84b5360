# Scales come from the whole history, whatever the algorithm.
# file: kernels/fp8.c
# tests: test_kernels_fp8 fp8_1
s/rule.most_recent ? of\[0\]/0 ? of[0]/
