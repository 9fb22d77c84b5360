# The first line is silent about no_sync.
# file: core/record/verdict.c
# tests: test_cli_defaults
s/if (plan->strategy\.no_sync)/if (false)/
