# Of several --cp-comm-type the first is that of all layers.
# file: core/interop/megatron.c
# tests: test_megatron_names
s/if (strcmp(g->values\[i\], \*type) != 0)/if (false)/
