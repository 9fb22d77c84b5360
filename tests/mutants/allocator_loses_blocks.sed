# The free blocks that stand below one that is taken from within a bin are lost.
# file: core/place/allocator.c
# tests: test_allocator
s/    bin->lowest = meld(a, bin->lowest, below);/    (void)below;/
