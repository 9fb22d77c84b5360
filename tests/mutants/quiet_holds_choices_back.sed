# What is taken for "auto" is not told to callers of the library, which ask for --quiet.
# file: cli/defaults.c
# tests: test_api
s/if (filled != NULL) sl_warn/if (filled != NULL \&\& !options->quiet) sl_warn/
