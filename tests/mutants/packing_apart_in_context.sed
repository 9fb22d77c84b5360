# Megatron-LM's packed products are apart under context parallelism.
# file: core/plan/kernels.c
# tests: test_packing
s/\.packs_in_context = true, //
