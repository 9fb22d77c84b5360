# Where nodes have one GPU a hop between them costs what the algorithm's own does.
# file: cost/nccl/latency.c
# tests: test_nccl
s/alone ? SL_NCCL_TREE : algo/alone ? algo : algo/
