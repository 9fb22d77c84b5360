# Trees go down as many levels as there are nodes.
# file: cost/nccl/latency.c
# tests: test_nccl
s/levels = sl_nccl_log2(comm->nodes);/levels = comm->nodes - 1;/
