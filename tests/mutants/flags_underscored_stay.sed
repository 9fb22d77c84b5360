# Flags that are written with underscores are handed on to the ranks, or to the measurement that validate starts.
# file: cli/options.c
# tests: test_cli_nodes
s|  const size_t length = strcspn(word + 2, "=");|  const size_t length = strchr(word, '_') ? 0 : strcspn(word + 2, "=");|
