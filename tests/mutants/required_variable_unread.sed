# ${NAME:?WORDS} is kept as it is written, where the name's value is known.
# file: core/interop/shell_expand.c
# tests: test_shell_start
s/c == '+' || c == '?' ?/c == '+' ?/
