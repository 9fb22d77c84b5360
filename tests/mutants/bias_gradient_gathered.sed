# Sequence parallel: the gradient of a row-parallel bias is made of all rows on each member, and then summed over them.
# file: core/models/linear.c
# tests: grid3d_2 grid3d_4
s/bias_gradient(g, n, 0, dout, g->s, g->c)/bias_gradient(g, n, 0, whole, g->r, g->c)/
