# Pieces of a sum leave when the whole product is made.
# file: core/models/linear.c
# tests: test_tp_overlap
s/sl_build_as(made, SL_READ_WRITE)/sl_build_as(sl_regions_piece(sl_build_write(g->l, partial), pieces - 1 - i, pieces), SL_READ_WRITE)/
