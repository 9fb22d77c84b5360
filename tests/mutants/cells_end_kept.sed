# A block of the checker's cells whose last cell was removed still ends where that cell ended.
# file: core/check/cells.c
# tests: test_cells
/^struct sl_cells_place sl_cells_remove/,/^}/s/^  set_range(b);$//
