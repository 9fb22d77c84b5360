# Of two codes that share a byte the second is the first.
# file: kernels/quantize.c
# tests: test_kernels_quantize
s/high = codes\[2 \* i + 1\]/high = codes[2 * i]/
