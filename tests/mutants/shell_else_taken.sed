# The branch of else runs whatever ran before it.
# file: core/interop/shell_conditions.c
# tests: test_shell
s/strcmp(word, "else") == 0) choose(branches, SL_YES)/strcmp(word, "else") == 0) branches->branch = SL_YES/
