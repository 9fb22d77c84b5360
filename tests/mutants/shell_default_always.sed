# A default replaces a value.
# file: core/interop/shell_expand.c
# tests: test_shell
s/  if (does != '.0' \&\& has) return sl_shell_splice(r, v);//
