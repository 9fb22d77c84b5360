# The command that a dry run prints is told to pass variables on that only the launcher itself would set.
# file: cli/launch.c
# tests: test_cli_nodes
s/i < sizeof set /i + 9 < sizeof set /
