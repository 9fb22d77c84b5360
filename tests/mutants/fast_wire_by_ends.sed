# Copies for the wire are seen at the ends of a stage alone.
# file: fast/reduce.c
# tests: test_fast
s|sl_fast_ring_note(&w->ring, w->now, bytes->left);|(void)bytes;|
