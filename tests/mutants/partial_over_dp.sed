# Sequence parallel: what members made of their rows is summed over dp in place of tp.
# file: core/lower/reduce.c
# tests: grid3d_2 grid3d_4
s/SL_OP_ALL_REDUCE, SL_GROUP_TP, type/SL_OP_ALL_REDUCE, SL_GROUP_DP, type/
