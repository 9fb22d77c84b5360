# Values that have commas are cut at them.
# file: cli/sweep_axes.c
# tests: test_cli_sweep
s/strchr(text, ';') != NULL ? ";" : ","/strchr(text, ';') != NULL ? ",;" : ","/
