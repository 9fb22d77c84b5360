# A bucket is cast although its buffer is not free yet.
# file: fast/reduce.c
# tests: test_fast
s/later(later(at, reached), w->ring.taken\[b->turn\])/later(at, reached)/
