# NAME+= forgets the old value.
# file: core/interop/shell.c
# tests: test_shell
s/= appends ? sl_shell_find/= false ? sl_shell_find/
