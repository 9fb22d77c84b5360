# What stands before the first whole block of a long range is not written.
# file: core/io/direct.c
# tests: test_direct
s/if (write_cached(handle, at, head, offset) != 0) return -1;/if (handle < 0) return -1;/
