# A call of two buckets leaves when the first of them is complete.
# file: core/lower/reduce.c
# tests: test_lowering golden_2
s/if (!complete(call) || !complete(call + buckets - 1)) return/if (!complete(call)) return/
