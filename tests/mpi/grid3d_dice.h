/* The dice that configurations of the equivalence grid are drawn by. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct dice {
  uint64_t state;
};

/* splitmix64 */
static inline uint64_t next(struct dice *d) {
  uint64_t z = d->state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

static inline int pick(struct dice *d, int n) {
  return (int)(next(d) % (uint64_t)n);
}

static inline bool chance(struct dice *d, int in, int of) {
  return pick(d, of) < in;
}
