# Of two codes that share a byte the second is the first.
# file: kernels/quantize.c
# tests: test_kernels_quantize
s/(high \& 15) << 4/(low \& 15) << 4/
