# A value is asked to be whole and in range by every release.
# file: core/config/read.c
# tests: test_config_errors
s/if (reader->version < field->asked_since) {/if (reader->version < 0) {/
