# The first axis of a sweep moves as the last one does.
# file: cli/sweep_axes.c
# tests: test_cli_sweep
s/for (int a = axes->count - 1; a > axis; a--) combination/for (int a = axes->count - 1; a > axis + 1; a--) combination/
