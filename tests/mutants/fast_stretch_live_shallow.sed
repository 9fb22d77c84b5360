# Of memory only what lives in the shallow plan is counted.
# file: fast/stretch.c
# tests: test_fast_stretch
s/shallow + (double)times \* (deep - shallow)/shallow + 0 * (double)times * (deep - shallow)/
