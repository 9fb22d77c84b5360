# The words behind the script are those in front of it, too.
# file: core/interop/shell_start.c
# tests: test_shell_start
s/for (at++; at < r->command.count; at++)/for (; at < r->command.count; at++)/
