# Every rank of tensor parallelism writes its scales of fp8.
# file: core/program/locate.c
# tests: test_scales
s/rank->at.tp == 0 ? alike->index : -1/alike->index/
