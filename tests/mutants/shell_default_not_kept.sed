# A default of := does not stay.
# file: core/interop/shell_expand.c
# tests: test_shell
s/const bool assigns = !r->assigns /const bool assigns = false \&\& !r->assigns /
