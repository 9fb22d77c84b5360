# shift moves nothing.
# file: core/interop/shell_start.c
# tests: test_shell_start
s/r->shifted += (size_t)by;/r->shifted += 0;/
