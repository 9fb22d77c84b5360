# Of free blocks of one size the one with the highest address is taken.
# file: core/place/allocator.c
# tests: test_allocator
s/a->blocks\[y - 1\].address < a->blocks\[x - 1\].address/a->blocks[y - 1].address > a->blocks[x - 1].address/
