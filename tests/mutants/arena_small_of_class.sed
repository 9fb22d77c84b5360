# The largest buffers of a size class are taken to be as small as its smallest.
# file: core/place/arena.c
# tests: test_busy
s/reach = (INT64_C(2) << n) - 1;/reach = INT64_C(1) << n;/
