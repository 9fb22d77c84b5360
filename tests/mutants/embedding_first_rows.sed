# Every member takes its rows of the embedding for the vocabulary's first.
# file: core/models/ends.c
# tests: grid3d_2 grid3d_4
/static struct sl_op embed_op/,/^}/ s/op.place_group = SL_GROUP_TP;/;/
