# Stages 2 and 3: the second micro-batch's reduction overwrites the partition.
# file: core/lower/reduce.c
# tests: grid3d_2 golden_2
s/return kept(l, b->first) \&\& sharded(l) \&\& l->zero->reduce->arrived < 0 ? SL_READ_WRITE : SL_WRITE;/return kept(l, b->first) \&\& l->plan->world > 1000 ? SL_READ_WRITE : SL_WRITE;/
