# A missing argument is told, not the misspelt one that is the reason.
# file: core/interop/megatron.c
# tests: test_megatron_names
s/if (status == SL_OK || status == SL_ERR_INPUT) {/if (status == SL_OK) {/
