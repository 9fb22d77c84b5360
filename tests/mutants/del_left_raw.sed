# JSON for a terminal leaves DEL as it is.
# file: core/base/json.c
# tests: test_cli_truths
s/if (c1 || \*at == 0x7f)/if (c1)/
