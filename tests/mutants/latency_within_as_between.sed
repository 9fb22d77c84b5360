# What hops within nodes take beyond NCCL's figure is counted as that of hops between them.
# file: cost/topology.c
# tests: test_nccl_group
s/extra\[between\] += /extra[1] += /
