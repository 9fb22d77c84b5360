# What is copied back from the type of the wire takes no time.
# file: fast/reduce.c
# tests: test_fast
s/return w->recast ? w->back_launch .*/return 0 * w->back_launch * (double)count;/
