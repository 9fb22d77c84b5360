# The check takes what another buffer wrote for the reader's own.
# file: core/check/buffers.c
# tests: test_check
s/if (x->slot != slot) return refuse/if (x->slot < 0 \&\& slot >= 0) return refuse/
