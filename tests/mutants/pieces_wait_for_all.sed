# Pieces of a gather are read by the product as a whole.
# file: core/models/linear.c
# tests: test_torch_blocks test_tp_overlap
/static enum sl_status columns_in_pieces/,/^}/ s/const int pieces = .*;/const int pieces = 1;/
