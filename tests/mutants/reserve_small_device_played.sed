# An allocator is played however much too small its device is.
# file: core/place/reserve.c
# tests: test_reserve
s/  if (taken \/ 2 > room)/  if (taken \/ 200 > room)/
