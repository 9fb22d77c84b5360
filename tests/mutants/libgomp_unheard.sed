# What libgomp complains about is passed on, and the run goes on without the variable.
# file: core/run/openmp.c
# tests: test_cli_truths
s/  if (complaint == NULL) {/  {/
