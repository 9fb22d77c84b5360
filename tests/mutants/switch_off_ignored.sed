# A switch with =off is on.
# file: cli/options.c
# tests: test_cli_flags
s/  if (strcmp(text, "off") == 0) {/  if (strcmp(text, "OFF") == 0) {/
