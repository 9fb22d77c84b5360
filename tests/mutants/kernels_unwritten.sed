# Kernels that are not of Megatron-LM are written as if they were.
# file: core/interop/megatron_write.c
# tests: test_written
s/const bool unfused = strcmp(kernels, "megatron-unfused") == 0 \&\&/const bool unfused = strcmp(kernels, "megatron-unfused") == 0 ||/
