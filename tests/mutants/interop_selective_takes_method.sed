# Selective recomputation goes with a method, which Megatron-LM refuses.
# file: core/interop/megatron.c
# tests: test_megatron
s/if (strcmp(granularity, "selective") == 0)$/if (strcmp(granularity, "none") == 0)/
