# A branch of elif runs behind one that has run.
# file: core/interop/shell_conditions.c
# tests: test_shell
s/  f->taken = sl_truth_or(f->taken, value);//
