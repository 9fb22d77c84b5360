# The command that a dry run prints is told to pass variables on that only the launcher itself would set.
# file: cli/launch.c
# tests: test_cli_nodes
s/for (size_t i = 0; i < sizeof set .* set; i++) sl_words_addf/for (size_t i = 0; i < 0; i++) sl_words_addf/
