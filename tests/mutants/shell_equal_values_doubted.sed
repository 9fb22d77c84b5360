# Equal values are in doubt, too.
# file: core/interop/shell_values.c
# tests: test_megatron_names
s/ || begins_with(&v->value.list, &other->value.list)) return NULL/) return NULL/; s/ \&\& begins_with(&v->value.list, &other->value.list))$/ \&\& false)/
