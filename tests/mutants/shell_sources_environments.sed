# Files that set up a shell are to be read.
# file: core/interop/shell_source.c
# tests: test_shell_source
s/word == NULL || sets_up_a_shell(word->text)/word == NULL || (false \&\& sets_up_a_shell(word->text))/
