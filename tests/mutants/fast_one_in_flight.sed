# Every stage keeps one micro-batch.
# file: fast/fast.c
# tests: test_fast
s/const double kept = (double)in_flight \* x->kept;/const double kept = x->kept;/
