# Free pages within an expandable segment never go back to the device.
# file: core/place/allocator.c
# tests: test_allocator
s/  if (is_expandable(a, b)) return b->bytes - b->unmapped;/  if (is_expandable(a, b)) return 0;/
