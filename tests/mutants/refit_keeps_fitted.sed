# The fit leaves every number where the profile has it.
# file: refit/clock.c
# tests: test_runs
s/if (!sl_refit_depends(c, weight, j)/if ((!sl_refit_depends(c, weight, j) || j < c->numbers.count)/
