# Every member of a row-parallel layer adds the whole bias, before the sum.
# file: core/models/linear.c
# tests: grid3d_2 grid3d_4
s/w, g->biases \&\& g->tp == 1, sl_build_write/w, g->biases, sl_build_write/
