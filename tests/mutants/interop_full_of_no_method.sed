# Full recomputation goes without a method, with which alone Megatron-LM starts.
# file: core/interop/megatron.c
# tests: test_megatron
s/if (strcmp(granularity, "full") != 0 || !sl_arguments_has(a, needs)) return SL_OK;/return SL_OK;/
