# The first unit that a group's members lie in is taken to hold as many as those after it.
# file: cost/topology.c
# tests: test_nccl_group
s/inside = (room - 1) \/ g->stride + 1, each/inside = (room > 0) * span \/ g->stride, each/
