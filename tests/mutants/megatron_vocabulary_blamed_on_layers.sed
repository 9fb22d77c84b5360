# A tokenizer whose vocabulary nobody knows is passed over, so that the model is missing.
# file: core/interop/megatron_vocabulary.c
# tests: test_megatron
s/  if (!find_tokenizer(a, path))$/  if (!find_tokenizer(a, path)) return SL_OK;\n  if (*out < 0)/
