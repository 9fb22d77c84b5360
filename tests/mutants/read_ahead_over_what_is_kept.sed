# What is read ahead takes the place of a piece that is still in use.
# file: core/checkpoint/read_ahead.c
# tests: test_read_ahead
s/  const size_t oldest = ahead->kept < ahead->read ? ahead->kept : ahead->read;/  const size_t oldest = ahead->read;/
