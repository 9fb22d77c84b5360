# Equal values are in doubt, too.
# file: core/interop/shell.c
# tests: test_megatron_names
s/ || other == NULL || strcmp(other->value, v->value) == 0) return/ || other == NULL) return/
