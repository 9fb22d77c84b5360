# A process does not hear what the one that started it has said.
# file: cli/said.c
# tests: test_cli_truths
s/^    is_new(hash);$/    (void)hash;/
