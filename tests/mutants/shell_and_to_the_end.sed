# After one && all commands are conditional.
# file: core/interop/shell_conditions.c
# tests: test_megatron_names test_shell
s/    c->runs = SL_YES;$/    (void)c;/
