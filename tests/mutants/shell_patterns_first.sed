# Of the patterns of a branch only the last counts.
# file: core/interop/shell_conditions.c
# tests: test_shell
s/f->matched = sl_truth_or(f->matched, /f->matched = (/
