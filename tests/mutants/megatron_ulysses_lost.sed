# --ds-sequence-parallel-size is passed over.
# file: core/interop/megatron.c
# tests: test_megatron
s/  SL_TRY(put_ulysses(config, a));//
