# A block with a number that is not finite has a scale.
# file: kernels/quantize.c
# tests: test_kernels_quantize
s|return finite ? largest : INFINITY;|return largest;|
