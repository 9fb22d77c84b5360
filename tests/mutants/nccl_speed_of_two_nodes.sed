# All algorithms over two nodes count with the speed between them.
# file: cost/nccl/bandwidth.c
# tests: test_nccl
s/comm->nodes <= 2 || is_collnet/comm->nodes < 2 || is_collnet/
