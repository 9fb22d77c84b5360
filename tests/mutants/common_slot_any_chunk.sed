# The check takes what another stage wrote in a common slot for the reader's own.
# file: core/check/buffers.c
# tests: test_check
s/return (int64_t)buffer << 32 | slot;/return buffer < 0 ? buffer : slot;/
