# A blank at the end of a value does not separate it from what follows.
# file: core/interop/shell_reader.c
# tests: test_shell
s/return value.blank_after ? /return false ? /
