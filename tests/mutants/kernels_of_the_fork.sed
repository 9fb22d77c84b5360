# Megatron-DeepSpeed has the kernels of Megatron-LM of 2024.
# file: core/interop/megatron.c
# tests: test_megatron
s/kernels = "megatron-deepspeed"/kernels = "megatron-core"/
