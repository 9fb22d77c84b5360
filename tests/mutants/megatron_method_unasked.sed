# Full recomputation needs no --recompute-method.
# file: core/interop/megatron.c
# tests: test_megatron
s/if (strcmp(granularity, "full") == 0 \&\& sl_arguments_has(a, "recompute-granularity"))/if (false)/
