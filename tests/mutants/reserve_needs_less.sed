# What a program cannot do without is said to be half of it.
# file: core/place/reserve.c
# tests: test_reserve
s/^  \*needed = \*reserved;/  *needed = *reserved \/ 2;/
