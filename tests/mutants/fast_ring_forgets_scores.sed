# The fast clock forgets copies for communication beside a block that closes no bucket, behind its first gradient.
# file: fast/reduce.c
# tests: test_fast
s/if (b > 0 && w->ring.buckets == buckets)/if (b > INT32_MAX)/
