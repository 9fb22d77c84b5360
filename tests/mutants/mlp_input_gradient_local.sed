# The gradient of a column-parallel linear's input is not summed over tp.
# file: core/models/mlp.c
# tests: grid3d_2 grid3d_4
/static enum sl_status linear_backward/,/^}/ s/if (g->tp > 1)/if (g->tp > 1000)/
