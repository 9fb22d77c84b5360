# A search stops one value before the last that fits.
# file: cli/search.c
# tests: test_cli_search
s/llabs(fails - fits) > 1/llabs(fails - fits) > 2/
