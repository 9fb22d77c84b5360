# The scatter of installations is one of all their runs.
# file: refit/folds.c
# tests: test_runs
s/if (folds\[i\] == fold) misses/if (fold >= 0) misses/
