/* Row shapes, and device memory for them, used by the cases of several files. */
#pragma once

#include "tests/kernels/gpu/cases.h"

/* Column counts that are multiples of a vector of 16 bytes, and others, which start at an odd address. */
struct shape {
  size_t rows, C, shift;
};
static const struct shape shapes[] = {{37, 77, 3}, {5, 320, 0}, {1, 3, 1}, {150, 40, 0}};
#define EACH_SHAPE(s) for (const struct shape *s = shapes; s < shapes + sizeof shapes / sizeof *shapes; s++)
enum { MOST_ROWS = 150 };

static inline float *device_floats(size_t n) {
  return tensor_new(SL_NUMBER_F32, n + 1, 0, 7, 9).d;
}
