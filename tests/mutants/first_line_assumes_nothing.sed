# The first line is silent about stragglers.
# file: core/record/verdict.c
# tests: test_cli_assume
s/i < assume->straggler_count \&\& i < SHOWN/false/
