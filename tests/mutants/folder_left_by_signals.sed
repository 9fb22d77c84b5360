# A folder that a signal leaves keeps its files.
# file: core/base/remove.c
# tests: test_new_file
s/^      (void)unlinkat(.*$//
