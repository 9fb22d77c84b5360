# A search for the fewest ranks finds a node and a half.
# file: cli/search.c
# tests: test_cli_search
s/const bool whole = world <= node || world % node == 0/const bool whole = world <= node || world % node >= 0/
