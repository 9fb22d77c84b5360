# The second key of an error is ours.
# file: core/interop/reword.c
# tests: test_megatron_names
s/name = length > 0 ? find(names, at, length) : NULL;/name = length > 999 ? find(names, at, length) : NULL;/
