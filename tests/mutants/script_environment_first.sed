# The words behind the script are those from its own name on.
# file: core/interop/shell_start.c
# tests: test_shell_start
s/for (at++; at < r->command.count \&\& status/for (; at < r->command.count \&\& status/
