# An expandable segment's end is chosen like any other free block.
# file: core/place/allocator.c
# tests: test_allocator
s/  if (first != a->last) return SL_OK;/  if (first != a->last || a->capacity >= 0) return SL_OK;/
