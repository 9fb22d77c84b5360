# The path that is the longest in few micro-batches is taken for the longest in many.
# file: fast/whole.c
# tests: test_fast_odd
s/w->straight = w->count < 3 || is_straight(w)/w->straight = w->count < 4 || is_straight(w)/
