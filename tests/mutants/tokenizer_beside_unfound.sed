# A tokenizer beside the script is not found.
# file: core/interop/megatron_vocabulary.c
# tests: test_megatron_vocabulary
s/const bool relative = slash != NULL/const bool relative = slash == NULL/
