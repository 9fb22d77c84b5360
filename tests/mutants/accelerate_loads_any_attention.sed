# A word for attention is taken that Accelerate does not load.
# file: core/interop/accelerate.c
# tests: test_accelerate_megatron
s/if (read_switch(a, key, \&any) == SL_OK) return SL_OK;/if (read_switch(a, key, \&any) == SL_OK || true) return SL_OK;/
