# A model with windows is written as one without.
# file: core/interop/megatron_model_write.c
# tests: test_megatron_model
s/  return windowed ? refuse("sliding_window".*/  return windowed ? SL_OK : SL_OK;/
