# What is said to fit is said without having been tried.
# file: cli/fit.c
# tests: test_cli_fit
s/    if (bytes > limit) continue;/    if (limit < 0) continue;/
