# Pieces of a buffer stay requests of their own in the allocator's replay.
# file: core/place/reserve.c
# tests: test_reserve
s/const bool piece = joins \&\& whole != /const bool piece = joins \&\& whole > /
