# Sequences of Megatron-LM's index may begin anywhere.
# file: core/io/megatron.c
# tests: test_token_formats
s/if (offsets\[k\] != end)/if (offsets[k] < 0)/
