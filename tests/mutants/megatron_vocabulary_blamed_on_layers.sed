# A tokenizer whose vocabulary nobody knows is passed over, so that the model is missing.
# file: core/interop/megatron_model.c
# tests: test_megatron
s/  if (\*out == 0)$/  if (*out == 0) return SL_OK;\n  if (*out < 0)/
