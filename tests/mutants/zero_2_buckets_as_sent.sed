# ZeRO-2's buckets have the type in which they are communicated.
# file: core/plan/strategy.c
# tests: test_whole_sums
s/s->casts_buckets = zero2 \&\& s->sums_whole;/s->casts_buckets = false;/
