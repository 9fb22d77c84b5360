# A test of a value that a condition decides is certain.
# file: core/interop/shell_test.c
# tests: test_shell
s/word->doubt == NULL \&\& //
