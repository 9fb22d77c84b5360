# Lines behind a sourced file are counted from those of the file.
# file: core/interop/shell_source.c
# tests: test_shell_source
s/  r->line = source->line;//
