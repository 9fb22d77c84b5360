# Chains between nodes take as much of each link as a ring inside one.
# file: cost/nccl/graph.c
# tests: test_nccl
s/comm->nodes > 1 \&\& comm->nics >= local;/comm->nodes < 1 \&\& comm->nics >= local;/
