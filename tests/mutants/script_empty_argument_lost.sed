# '' is no argument of a script.
# file: core/interop/shell.c
# tests: test_shell_start
s/is_argument = r->starts \&\& r->begun/is_argument = r->starts \&\& ends/
