# LL128 of trees carries 120 of 128 bytes on one node too.
# file: cost/nccl/bandwidth.c
# tests: test_nccl
s/comm->nodes == 1 ? 7.0 \/ 9 : 120.0 \/ 128/comm->nodes == 0 ? 7.0 \/ 9 : 120.0 \/ 128/
