# Words of a value have no limit.
# file: core/interop/shell_reader.c
# tests: test_shell
s/list->count == SL_SHELL_WORDS/false/
