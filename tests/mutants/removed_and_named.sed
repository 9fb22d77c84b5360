# A folder that a signal has begun to remove gets its name all the same.
# file: core/base/new_file.c
# tests: test_new_file
s/if (!forget(hidden)) return/if (!forget(hidden) \&\& false) return/
