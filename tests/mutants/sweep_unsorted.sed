# What does not fit stands among what does.
# file: cli/sweep.c
# tests: test_cli_sweep
s/  if (x != y) return x < y;/  if (x < 0) return x < y;/
