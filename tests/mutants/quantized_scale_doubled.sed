# A block's scale is twice what its codes were made with.
# file: kernels/quantize.c
# tests: test_kernels_quantize
s|return 1 / reciprocal;|return 2 / reciprocal;|
