# The first half of a full block of the checker's cells keeps the range of the whole block.
# file: core/check/cells.c
# tests: test_cells
s/^  set_range(from);$//
