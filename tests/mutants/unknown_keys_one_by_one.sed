# Every unknown key is a warning of its own.
# file: core/config/read.c
# tests: test_config
s/if (unknown->count > 1)/if (false)/
