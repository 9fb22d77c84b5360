# A group has one NIC a node, however many of its GPUs stand there.
# file: cost/nccl/group.c
# tests: test_nccl_group
s/comm.nics = fewest;/comm.nics = fewest > 0;/
