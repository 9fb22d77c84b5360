# An exit of a subshell ends a launch script.
# file: core/interop/shell_conditions.c
# tests: test_shell
s/ \&\& c->subshells == 0 \&\& sl_shell/ \&\& sl_shell/
