# `set --` leaves the script's arguments as they were.
# file: core/interop/shell_start.c
# tests: test_shell_start
s/strcmp(next, "--") == 0/strcmp(next, "-") == 0/
