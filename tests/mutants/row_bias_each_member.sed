# Every member of a row-parallel layer adds the whole bias, before the sum.
# file: core/models/linear.c
# tests: grid3d_2 grid3d_4
s/n->bias\[0\] >= 0 \&\& g->tp == 1/n->bias[0] >= 0/
