# Pieces of a gradient are packed in the order of the ranks, not by their places in nodes.
# file: kernels/quantize.c
# tests: test_kernels_quantize quantized_6
s|piece % rows \* turn + piece / rows, i % blocks|piece / rows * rows + piece % rows, i % blocks|
