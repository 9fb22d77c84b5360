# What stands behind && is taken for certain.
# file: core/interop/shell_conditions.c
# tests: test_megatron_names test_shell
s/c->runs = c->either ? sl_truth_not(c->value) : c->value;/(void)c;/
