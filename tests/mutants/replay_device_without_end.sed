# The allocator does not see that a block needs more than the device has.
# file: core/place/allocator.c
# tests: test_replay test_allocator
s/return a->capacity > 0 \&\& !found/return a->capacity < 0 \&\& !found/
