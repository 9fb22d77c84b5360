# The parameters of a rank are counted, of no ranks.
# file: core/interop/megatron_stages.c
# tests: test_cli
s/if (pp <= 1 || tp < 1) return SL_OK;/if (pp <= 1 || tp < 0) return SL_OK;/
