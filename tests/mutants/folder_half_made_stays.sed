# Folders above one that a signal kept from being made stay.
# file: core/base/made.c
# tests: test_new_file
s/ || errno == ENOENT//
