# Errors about a script's values name our keys.
# file: core/interop/reword.c
# tests: test_megatron_names
s/if (status == SL_OK || names == NULL/if (names != NULL || status == SL_OK/
