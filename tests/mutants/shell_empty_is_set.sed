# An empty value counts as one behind :-.
# file: core/interop/shell_expand.c
# tests: test_shell
s/(v->value.list.count > 0 || \*rest != ':')/true/
