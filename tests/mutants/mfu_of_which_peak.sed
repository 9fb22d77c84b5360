# An mfu says nothing of its peak.
# file: cli/runner.c
# tests: test_cli_defaults
s/if (peak != NULL \&\&/if (false \&\&/
