# --require-fit requires nothing.
# file: cli/fit.c
# tests: test_cli_verdict
s/!options->require_fit || json_is_true/!options->require_fit || json_is_boolean/
