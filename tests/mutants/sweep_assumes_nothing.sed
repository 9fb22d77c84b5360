# What a user assumes has no effect on trials.
# file: cli/trial.c
# tests: test_cli_sweep test_cli_verdict
s/&setup->job, &assume));/\&setup->job, NULL)); (void)assume;/
