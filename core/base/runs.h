/* Sorted lists of byte ranges [lo, hi) that do not overlap. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Index of the first of `count` ranges that ends above `at`. A range is a struct of `size` bytes that begins with
 * int64_t lo, hi. */
static inline size_t sl_runs_find(const void *runs, size_t count, size_t size, int64_t at) {
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    const int64_t *lo_hi = (const int64_t *)((const char *)runs + middle * size);
    if (lo_hi[1] <= at)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}
