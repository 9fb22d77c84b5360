# A real argument of Megatron-LM that nothing reads is taken for another one misspelt.
# file: core/interop/megatron_account.c
# tests: test_megatron_names
s/ || sl_megatron_knows(g->name)) return SL_OK;/) return SL_OK;/
