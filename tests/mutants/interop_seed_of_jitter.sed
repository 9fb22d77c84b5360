# What --jitter assumes goes without the script's seed.
# file: cli/import.c
# tests: test_cli
s/ || options->jitter > 0;/;/
