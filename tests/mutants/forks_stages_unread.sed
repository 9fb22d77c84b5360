# Megatron-DeepSpeed's way to divide layers is passed over.
# file: core/interop/megatron_stages.c
# tests: test_megatron_forks
s/if (!sl_arguments_has(a, key)) return SL_OK;/if (sl_arguments_has(a, key) || true) return SL_OK;/
