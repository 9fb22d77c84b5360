# The first line of a prediction is silent about fp8.
# file: core/record/verdict.c
# tests: test_cli_defaults
s/products == SL_F8/false/
