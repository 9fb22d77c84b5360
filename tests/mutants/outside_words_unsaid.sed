# Words that nothing in the script sets go without a word.
# file: core/interop/megatron_outside.c
# tests: test_megatron_names
s/  if (text != NULL)$/  if (text != NULL \&\& !a->is_script)/
