# A word that belongs to no argument of Megatron-LM's is passed over: --sequence-parallel false turns it on.
# file: core/interop/megatron.c
# tests: test_megatron
s/  if (!a->is_script) SL_TRY(sl_megatron_check_words(a));//
