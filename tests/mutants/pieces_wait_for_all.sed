# Pieces of a gather are read by the product as a whole.
# file: core/models/linear.c
# tests: test_torch_blocks
s/g->c, i == 0 ? pieces : 1));/g->c, i < 0 ? pieces : 1));/
