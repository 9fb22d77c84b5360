# A function's own $1 is the script's.
# file: core/interop/shell_start.c
# tests: test_shell_start
s/return is_name || is_certain(r) ?/return is_name || !is_name ?/
