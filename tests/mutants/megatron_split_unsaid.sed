# Megatron-LM's --split is passed over without a word.
# file: core/interop/megatron_rows.c
# tests: test_megatron
s/"tokenizer-model",/"split", "tokenizer-model",/
