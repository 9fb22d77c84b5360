# Of the buckets that one op completes, the fast clock reduces the one behind first.
# file: fast/reduce.c
# tests: test_fast
s/w->waiting\[i\].ready <= w->waiting\[first\].ready/w->waiting[i].ready < w->waiting[first].ready/
