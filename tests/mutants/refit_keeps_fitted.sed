# The fit leaves every number where the profile has it.
# file: refit/clock.c
# tests: test_runs
s/!sl_refit_depends(c, weight, j) \&\& values/values/
