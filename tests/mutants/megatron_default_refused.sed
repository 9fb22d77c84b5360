# Megatron-LM's own default is refused where another value would be.
# file: core/interop/megatron_refused.c
# tests: test_megatron_names
s/return r->neutral != NULL && strcmp(value, r->neutral) == 0;/return false;/
