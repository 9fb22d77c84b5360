# Selective recomputation is taken, with which Megatron-LM does not start beside the method that Accelerate gives.
# file: core/interop/accelerate.c
# tests: test_accelerate_megatron
s/if (strcmp(granularity, "full") != 0)$/if (granularity[0] == 0)/
