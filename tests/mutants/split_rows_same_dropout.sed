# Sequence parallel: every member drops the elements of the first member's rows.
# file: core/models/transformer.c
# tests: grid3d_2 grid3d_3 grid3d_6
/^struct sl_op sl_transformer_stream_op/,/^}/ s/if (g->s < g->r) op.place_group = SL_GROUP_TP;/;/
