# The allocator does not see that a block needs more than the device has.
# file: core/place/allocator.c
# tests: test_replay test_allocator
s/serving(a, size) == a->bin_count \&\& a->reserved + more > a->capacity;/serving(a, size) == a->bin_count \&\& a->reserved + more < 0;/
