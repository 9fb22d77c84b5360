# A life that is open at the copied periods counts as begun before them.
# file: core/place/copies.c
# tests: test_repeat
s/life->first += jump->issue;//
