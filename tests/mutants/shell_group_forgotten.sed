# Of a group behind an operator only the first command is conditional.
# file: core/interop/shell_conditions.c
# tests: test_megatron_names test_shell
s/\.outer = c->runs,/.outer = SL_YES,/
