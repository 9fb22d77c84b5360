# A variable made of a doubtful one is certain.
# file: core/interop/shell_reader.c
# tests: test_megatron_names
s/doubt != NULL ? doubt : word->doubt/doubt/
