# What a file sets under a condition is set for certain.
# file: core/interop/shell_source.c
# tests: test_shell_source
s/  sl_shell_conditions_enter(&r->conditions);/  sl_shell_conditions_open(\&r->conditions);/
