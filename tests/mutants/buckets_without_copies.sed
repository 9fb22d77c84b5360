# DDP's buckets are filled without a copy.
# file: core/lower/reduce.c
# tests: test_one_reduction
s/if (communicates \&\& in_buckets(l)) SL_TRY(copy_through_bucket/if (false) SL_TRY(copy_through_bucket/
