# A value of a sweep that is no text is passed over in its row.
# file: cli/sweep_axes.c
# tests: test_cli_sweep
s/json_true()) != 0)/json_true()) > 0)/
