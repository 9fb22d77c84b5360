# Pieces of a gather are read by the product as a whole.
# file: core/models/linear.c
# tests: test_torch_blocks test_tp_overlap
s/count, columns, gather_pieces(g, layer, SL_HALF_INPUT));/count, columns, 1);/
