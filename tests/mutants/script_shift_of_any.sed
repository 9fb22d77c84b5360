# A shift by an unknown number moves nothing.
# file: core/interop/shell_start.c
# tests: test_shell_start
s/if (next\[strspn(next, "0123456789")\]/if (false \&\& next[0]/
