# || of a test is &&.
# file: core/interop/shell_test.c
# tests: test_shell
s/    any = sl_truth_or(/    any = sl_truth_and(/
