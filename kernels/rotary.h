/* The frequencies of rotary position embedding (Su et al., RoFormer, arXiv:2104.09864) and their scalings, following
 * modeling_rope_utils.py of transformers. The code is shared by host and GPU. */
#pragma once

#include "kernels/positions.h"

#include <math.h>

#define SL_TWO_PI 6.283185307179586477

/* The pair index at which `turns` full rotations fit into the original context length (arXiv:2309.00071, section
 * 3.2). */
SL_BOTH static inline double sl_rope_pair_of_turns(const struct sl_rope *r, double dim, double turns) {
  return dim * log(r->original / (turns * SL_TWO_PI)) / (2 * log(r->base));
}

/* How much of YaRN's interpolation pair i gets: 0 keeps its frequency, 1 divides it by the whole factor. */
SL_BOTH static inline double sl_rope_yarn_share(const struct sl_rope *r, double dim, size_t i) {
  double low = sl_rope_pair_of_turns(r, dim, r->high), high = sl_rope_pair_of_turns(r, dim, r->low);
  if (r->whole) low = floor(low), high = ceil(high);
  low = low > 0 ? low : 0;
  high = high < dim - 1 ? high : dim - 1;
  const double at = ((double)i - low) / (high > low ? high - low : 0.001);
  return at < 0 ? 0 : at > 1 ? 1 : at;
}

/* Llama 3.1: between two wavelengths the frequency is a weighted mean of the original and the divided one. */
SL_BOTH static inline double sl_rope_llama3(const struct sl_rope *r, double frequency) {
  const double turns = r->original * frequency / SL_TWO_PI; /* rotations within the original context length */
  if (turns > r->high) return frequency;
  if (turns < r->low) return frequency / r->factor;
  const double smooth = (turns - r->low) / (r->high - r->low);
  return (1 - smooth) * frequency / r->factor + smooth * frequency;
}

/* Radians per position of pair i, with `dim` rotated elements. */
SL_BOTH static inline double sl_rope_frequency(const struct sl_rope *r, size_t dim, size_t i) {
  const double frequency = pow(r->base, -2.0 * (double)i / (double)dim);
  if (r->scaling == SL_ROPE_LINEAR) return frequency / r->factor;
  if (r->scaling == SL_ROPE_LLAMA3) return sl_rope_llama3(r, frequency);
  if (r->scaling != SL_ROPE_YARN) return frequency;
  const double share = sl_rope_yarn_share(r, (double)dim, i);
  return frequency * (1 - share) + frequency / r->factor * share;
}
