# A file that sources itself is read until there are too many.
# file: core/interop/shell_source.c
# tests: test_shell_source
s/if (is_open(r, out->path)) return/if (false \&\& is_open(r, out->path)) return/
