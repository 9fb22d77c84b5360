# LL over several nodes is bounded by the GPU, not by the CPU.
# file: cost/nccl/tables.c
# tests: test_nccl
s/column == ONE_NODE ? caps.ll_one_node/column != MORE_NODES ? caps.ll_one_node/
