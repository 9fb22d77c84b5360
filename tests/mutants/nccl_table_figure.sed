# A figure of NCCL's tables is copied from its neighbour.
# file: cost/nccl/caps.inc
# tests: test_nccl
/^CAP(TREE_LL128,  HOPPER/s/29.0/36.7/
