# Gradients of vectors are quantised too.
# file: core/lower/quantize.c
# tests: test_quantized_traffic quantized_4
s|tensor_of(l, u)->n_dim > 1 \&\& ||
