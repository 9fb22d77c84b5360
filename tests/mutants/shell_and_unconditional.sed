# What stands behind && is taken for certain.
# file: core/interop/shell_conditions.c
# tests: test_megatron_names
s/  if (twice) c->behind = true;//
