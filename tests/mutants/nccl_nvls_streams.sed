# The GPU that pulls needs no stream of its own.
# file: cost/nccl/graph.c
# tests: test_nccl
s/head_speed(comm, heads + 1)/head_speed(comm, heads)/
