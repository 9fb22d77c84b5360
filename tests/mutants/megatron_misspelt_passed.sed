# A misspelt argument of Megatron-LM's is without effect.
# file: core/interop/megatron_account.c
# tests: test_megatron_names
s/if (near == NULL && !strict) return SL_OK;/if (!strict) return SL_OK;/
