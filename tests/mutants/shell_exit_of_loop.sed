# An exit in a loop, which may not run, ends a launch script.
# file: core/interop/shell_conditions.c
# tests: test_shell
s/ && c->loops == 0 && c->subshells/ \&\& c->subshells/
