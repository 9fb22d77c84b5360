# A wait for a writer is one op short.
# file: core/place/waits.c
# tests: test_lowering grid3d_2
s/raise(&need\[x->writer_lane\], x->written)/raise(\&need[x->writer_lane], x->written - 1)/
