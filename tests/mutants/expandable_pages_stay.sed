# Free pages within an expandable segment never go back to the device.
# file: core/place/allocator.c
# tests: test_allocator
s/    if (is_expandable(a, b)) {/    if (is_expandable(a, b) \&\& b->bytes < 0) {/
