# Flags of hosts that are written with underscores are handed on to the ranks.
# file: cli/nodes.c
# tests: test_cli_nodes
s|const size_t length = strcspn(flag, "=");|const size_t length = strchr(flag, '_') ? 0 : strcspn(flag, "=");|
