# A file of other keys is a configuration.
# file: core/config/read.c
# tests: test_config_errors
s/unknown.count > MOST_UNKNOWN/false/
