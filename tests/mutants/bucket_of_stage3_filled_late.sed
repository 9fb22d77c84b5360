# ZeRO-3's bucket and gradients stand only while they are used.
# file: core/lower/gradients.c
# tests: test_whole_sums
s/  const bool from_start = s->whole_buckets/  const bool from_start = false \&\& s->whole_buckets/
