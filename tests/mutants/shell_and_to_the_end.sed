# After one && all commands are conditional.
# file: core/interop/shell_conditions.c
# tests: test_megatron_names
s/c->behind = false; \/\* a command/c->behind |= false; \/* a command/
