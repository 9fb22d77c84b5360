# Three and more nodes are read from the column of two.
# file: cost/nccl/tables.c
# tests: test_nccl
s/? MORE_NODES : nodes - 1;/? TWO_NODES : nodes - 1;/
