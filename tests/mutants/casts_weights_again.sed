# Megatron-LM casts weights to fp8 for each micro-batch.
# file: core/models/casts.c
# tests: test_torch_blocks
s/if (factor == WEIGHT \&\& casts_of/if (factor == INPUT \&\& casts_of/
