# --quiet prints warnings.
# file: cli/main.c
# tests: test_cli_bench
s/  if (options.quiet) sl_said_silence();/  if (options.quiet \&\& options.strict) sl_said_silence();/
