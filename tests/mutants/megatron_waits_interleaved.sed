# Blocking messages of an interleaved pipeline are taken for overlapped ones.
# file: core/interop/megatron_refused.c
# tests: test_megatron_names
s/sl_arguments_has(a, refused\[i\]) && virtual_stages > 1/sl_arguments_has(a, refused[i]) \&\& virtual_stages > 99/
