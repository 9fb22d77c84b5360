# The first half of a full block of the checker's cells keeps the end of the block.
# file: core/check/cells.c
# tests: test_check test_cells
s/^  from->hi = from->list->hi\[from->count - 1\];$//
