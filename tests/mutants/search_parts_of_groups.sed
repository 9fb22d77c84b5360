# A search for the fewest ranks looks at worlds of parts of groups that shard.
# file: cli/search.c
# tests: test_cli_search
s/if (groups\[i\] > 1) same/if (groups[i] > 1000000) same/
