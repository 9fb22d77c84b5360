# An expandable segment's end is chosen like any other free block.
# file: core/place/allocator.c
# tests: test_allocator
s/if (last \&\& at + 1 < a->free_count) at++;/if (last \&\& a->capacity < 0) at++;/
