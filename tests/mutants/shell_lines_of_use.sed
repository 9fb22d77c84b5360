# A word of a list has the line where the list is used.
# file: core/interop/shell_reader.c
# tests: test_shell
s/ r->began = word->line;.*/ (void)word;/
