# Kernels that are not of Megatron-LM are written as if they were.
# file: core/interop/megatron_write.c
# tests: test_written
s/else if (strcmp(kernels, "megatron-core") != 0)/else if (kernels == NULL)/
