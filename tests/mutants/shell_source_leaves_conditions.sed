# A condition that a sourced file leaves open holds behind it.
# file: core/interop/shell_source.c
# tests: test_shell_source
s/  r->conditions = source->conditions;//
