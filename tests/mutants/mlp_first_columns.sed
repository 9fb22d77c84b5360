# Every member takes the first columns of a gradient for its own.
# file: core/models/mlp.c
# tests: grid3d_2 grid3d_4
/static enum sl_status own_columns/,/^}/ s/op.place_group = SL_GROUP_TP;/;/
