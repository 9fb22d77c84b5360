# An array keeps its first word.
# file: core/interop/shell_reader.c
# tests: test_shell
s/    if (i > 0) SL_TRY(sl_shell_end_word(r));/    if (i > 0) break;/
