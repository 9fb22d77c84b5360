# A sweep's "off" leaves on what the configuration has.
# file: cli/options.c
# tests: test_cli_sweep
/also what the config has switched on/,/return SL_OK/s/options->given.* = true;//
