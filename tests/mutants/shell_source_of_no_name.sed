# Words of a sourced file are of the script's lines.
# file: core/interop/shell_source.c
# tests: test_shell_source
s/  r->name = r->file = files/  r->name = files/
