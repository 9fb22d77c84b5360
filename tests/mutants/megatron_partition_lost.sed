# --partition-activations is passed over.
# file: core/interop/megatron.c
# tests: test_megatron
s/  SL_TRY(put_partitioned(config, a));//
