# Behind || runs what runs behind &&.
# file: core/interop/shell_conditions.c
# tests: test_shell
s/c->either ? sl_truth_not(c->value) : c->value/c->value/
