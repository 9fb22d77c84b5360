# Stages 2 and 3: the second micro-batch's reduction overwrites the partition.
# file: core/lower_reduce.c
# tests: equivalence_2 golden_2
s/return r->keep \&\& sharded(l) \&\& r->arrived < 0 ? SL_READ_WRITE : SL_WRITE;/return r->keep \&\& r->arrived > 1000000 ? SL_READ_WRITE : SL_WRITE;/
