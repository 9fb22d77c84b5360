# Errors about a script's values name our keys.
# file: core/interop/reword.c
# tests: test_megatron_names
s/if (names == NULL || file == NULL/if (names != NULL || file == NULL/
