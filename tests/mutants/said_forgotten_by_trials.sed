# Behind a trial warnings are printed as if none had been.
# file: cli/trial.c
# tests: test_cli_search
s/  sl_warn_set_sink(before, context);/  sl_warn_set_sink(NULL, context); (void)before;/
