# Stages 2 and 3: the second micro-batch's reduction overwrites the partition.
# file: core/lower/reduced.c
# tests: grid3d_2 golden_2
s/return adds ? SL_READ_WRITE : SL_WRITE;/return adds \&\& l->plan->world > 1000 ? SL_READ_WRITE : SL_WRITE;/
