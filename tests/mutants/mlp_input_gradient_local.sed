# The gradient of a column-parallel linear's input is not summed over tp.
# file: core/models/mlp.c
# tests: grid3d_2 grid3d_4
s/if (m->tp > 1) SL_TRY(tp_call(m, SL_OP_ALL_REDUCE/if (m->tp > 1000) SL_TRY(tp_call(m, SL_OP_ALL_REDUCE/
