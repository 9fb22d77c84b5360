# Pieces of work that nobody joins are all done before they are freed.
# file: core/base/parallel.c
# tests: test_parallel
s/  p->failed = -1;.*//
