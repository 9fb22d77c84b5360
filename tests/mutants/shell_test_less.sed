# A number is less than itself.
# file: core/interop/shell_test.c
# tests: test_shell
s/return truth(x < y);/return truth(x <= y);/
