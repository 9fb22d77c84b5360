# What is taken for "auto" is not told to callers of the library, which ask for --quiet.
# file: cli/defaults.c
# tests: test_api
s/  if (t.used == 0) return;/  if (t.used == 0 || options->quiet) return;/
