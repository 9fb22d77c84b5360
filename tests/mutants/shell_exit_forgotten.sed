# What a launch script says behind its exit counts as run.
# file: core/interop/shell.c
# tests: test_shell
s/  if (r->over)$/  if (false)/
