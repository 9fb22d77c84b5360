# In a text for eval, the name of a file behind > is an argument.
# file: core/interop/shell_program.c
# tests: test_shell
s/      i++; \/\* the file's name is the next word \*\//      (void)i;/
