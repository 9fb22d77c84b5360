# A bucket of DDP's reducer stands only while it is reduced.
# file: core/lower/bucket.c
# tests: test_reducer
/static enum sl_status standing_buffers/,/^}/s/SL_SCOPE_PERSISTENT/SL_SCOPE_PROGRAM/
