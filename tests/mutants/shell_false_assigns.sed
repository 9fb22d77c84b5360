# What a condition excludes is assigned.
# file: core/interop/shell_reader.c
# tests: test_shell
s/if (runs == SL_NO || /if (/
