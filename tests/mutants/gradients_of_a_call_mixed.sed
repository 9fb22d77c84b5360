# The buckets of a call arrive one on the other.
# file: core/lower/reduced.c
# tests: test_offload test_offload_train test_lowering test_groups
s/    at += b->arrival_count;/    at += 0 * b->arrival_count;/
