# Trees run no faster inside nodes than between them.
# file: cost/nccl/graph.c
# tests: test_nccl
s/if (comm->nodes > 1) tree.intra = raised/if (comm->nodes > 1 \&\& comm->nics < 0) tree.intra = raised/
