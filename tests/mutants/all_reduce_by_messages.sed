# An all_reduce passes messages one by one, too.
# file: cost/collective.c
# tests: test_cost_kernels
s/ && coll != SL_NCCL_ALL_REDUCE//
