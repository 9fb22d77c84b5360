# The number types of a file that says none are taken to be those of fp32.
# file: cli/export_config.c
# tests: interop_property
s/is->param_dtype == SL_F32 ? "false" : "true"/"false"/
