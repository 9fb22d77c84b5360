# Sequence parallel: gradients of the first layer's norms are of a member's own rows only.
# file: core/plan/layout.c
# tests: grid3d_2 grid3d_4
s/t->tp_dim < 0 \&\& t->layer >= 0;/t->tp_dim < 0 \&\& t->layer >= 1;/
