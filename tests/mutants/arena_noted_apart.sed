# Two buffers count as used at once when one is used after the other.
# file: core/place/arena.c
# tests: test_arena test_busy test_repeat
s/if (x->noted\[i\].first <= y->noted\[j\].last \&\& /if (/
