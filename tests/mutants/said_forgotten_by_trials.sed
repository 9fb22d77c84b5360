# Warnings behind the first trial of a search are not printed.
# file: cli/trial.c
# tests: test_cli_verdict test_cli_sweep test_api
s/  sl_warn_set_sink(before, context);/  (void)before;/
