# A wait for a writer is one op short.
# file: core/place/waits.c
# tests: test_lowering grid3d_2
s/need(needs, x->writer_lane, x->written)/need(needs, x->writer_lane, x->written - 1)/
