/* Blocks of rows, each with a partial sum of its own: as many for all numbers of threads, so that sums are the same. */
#pragma once

#include <stddef.h>

#define SL_ROW_BLOCKS_MOST ((size_t)128)

static inline size_t sl_row_block_rows(size_t rows) {
  const size_t each = (rows + SL_ROW_BLOCKS_MOST - 1) / SL_ROW_BLOCKS_MOST;
  return each < 8 ? 8 : each;
}

static inline size_t sl_row_block_count(size_t rows) {
  return (rows + sl_row_block_rows(rows) - 1) / sl_row_block_rows(rows);
}
