# A command that a condition excludes is the training.
# file: core/interop/shell_conditions.c
# tests: test_shell
s/return runs != SL_NO;/return runs <= SL_YES;/
