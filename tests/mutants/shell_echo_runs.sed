# What echo says is as good as what runs.
# file: core/interop/shell_program.c
# tests: test_shell
s/return says ? SAID : PRETRAIN;/return PRETRAIN;/
