# The last element of each bucket is not reduced.
# file: core/lower_zero.c
# tests: equivalence_2 golden_2
/^static enum sl_status all_reduce_bucket/,/^}/ s/b->lo, b->count)/b->lo, b->count - 1)/
