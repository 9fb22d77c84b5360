# A pipe is read again where a command predicts twice.
# file: core/base/piped.c
# tests: test_json test_cli_flags
s/if (!keeping) return SL_OK;/return SL_OK;/
