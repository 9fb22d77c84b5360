# A ring all_reduce of NCCL's model takes 2 n steps.
# file: cost/nccl/comm.c
# tests: test_nccl
s/return 2 \* (comm->ranks - 1);/return 2 * comm->ranks;/
