/* Block quantisation on the host (kernels/quantize.h). Each block takes two passes, the first of which finds its scale.
 * Threads share the blocks of all pieces. */
#include "kernels/quantize.h"
#include "kernels/numbers/run.h"
#include "kernels/parallel.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { RUN = 1024 }; /* must be even, because two codes of 4 bits share a byte */

static size_t blocks_of(const struct sl_quantized *s) {
  return (s->n + s->block - 1) / s->block;
}

/* One block of one packed piece: its scale, its codes, and which numbers of the piece it has, [first, first +
 * count). */
struct place {
  float *scale;
  uint8_t *codes;
  size_t first, count;
  int bits;
};

static struct place place_of(const struct sl_quantized *s, const void *packed, size_t piece, size_t block) {
  char *at = (char *)packed + piece * s->stride;
  const size_t first = block * s->block, left = s->n - first;
  return (struct place){.scale = (float *)at + block,
                        .codes = (uint8_t *)at + blocks_of(s) * sizeof(float) + first * (size_t)s->bits / 8,
                        .first = first,
                        .count = left < s->block ? left : s->block,
                        .bits = s->bits};
}

/* Fills the space behind a piece's codes with zeros. */
static void close_piece(const struct sl_quantized *s, void *packed, size_t piece) {
  const size_t used = blocks_of(s) * sizeof(float) + (s->n * (size_t)s->bits + 7) / 8;
  memset((char *)packed + piece * s->stride + used, 0, s->stride - used);
}

/* ---- numbers and codes, a run at a time ---- */

/* The largest magnitude of n floats and of `largest`; infinity if one of them is not finite. */
static float largest_of(float largest, const float *x, size_t n) {
  int finite = 1;
#pragma omp simd reduction(max : largest) reduction(& : finite)
  for (size_t i = 0; i < n; i++) {
    const float a = fabsf(x[i]);
    finite &= a <= FLT_MAX;
    largest = a > largest ? a : largest;
  }
  return finite ? largest : INFINITY;
}

/* The scale of a block whose largest magnitude is known; *factor is what to multiply its numbers by. */
static float scale_of(float largest, int bits, float *factor) {
  const float half = bits == 8 ? 128 : 8;
  *factor = 0;
  if (!(largest <= FLT_MAX)) return NAN;
  const float reciprocal = half / largest;
  if (largest == 0 || !(reciprocal <= FLT_MAX)) return 1;
  *factor = reciprocal;
  return 1 / reciprocal;
}

/* The codes of n floats of a block with a finite factor, written so that the compiler vectorises the loop. */
static void round_codes(int8_t *codes, const float *x, size_t n, float factor, float half) {
#pragma omp simd
  for (size_t i = 0; i < n; i++) {
    float y = rintf(x[i] * factor);
    y = y > half - 1 ? half - 1 : y;
    y = y < -half ? -half : y;
    codes[i] = (int8_t)(int)y;
  }
}

/* Writes the codes of n <= RUN floats, from code `at` on, which must be even. */
static void put_codes(const struct place *p, size_t at, const float *x, size_t n, float factor) {
  uint8_t *to = p->codes + at * (size_t)p->bits / 8;
  int8_t codes[RUN + 1];
  if (factor == 0) { /* the scale alone determines such a block */
    memset(to, 0, (n * (size_t)p->bits + 7) / 8);
  } else if (p->bits == 8) {
    round_codes((int8_t *)to, x, n, factor, 128);
  } else {
    round_codes(codes, x, n, factor, 8);
    codes[n] = 0; /* the other half of the last byte */
    for (size_t i = 0; i < (n + 1) / 2; i++) {
      const int low = codes[2 * i], high = codes[2 * i + 1];
      to[i] = (uint8_t)((low & 15) | (high & 15) << 4);
    }
  }
}

/* The code in the low or the high half of a byte. */
static float half_byte(uint8_t byte, int high) {
  return (float)((int8_t)(high ? byte : byte << 4) >> 4);
}

/* out += the decoded numbers of n codes, from code `at` on, which must be even. */
static void add_codes(float *out, const struct place *p, size_t at, size_t n) {
  const float scale = *p->scale;
  const uint8_t *from = p->codes + at * (size_t)p->bits / 8;
  if (p->bits == 8) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) out[i] += (float)(int8_t)from[i] * scale;
    return;
  }
#pragma omp simd
  for (size_t i = 0; i < n / 2; i++) {
    out[2 * i] += half_byte(from[i], 0) * scale;
    out[2 * i + 1] += half_byte(from[i], 1) * scale;
  }
  if (n % 2) out[n - 1] += half_byte(from[n / 2], 0) * scale;
}

static void read_floats(float *out, const sl_store *x, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = (float)sl_load(x[i]);
}

static void write_floats(sl_store *out, const float *x, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = sl_put((sl_real)x[i]);
}

/* ---- blocks ---- */

static void quantize_block(const struct place *p, const sl_store *x) {
  float room[RUN], largest = 0, factor;
  for (size_t i = 0; i < p->count; i += RUN) {
    const size_t m = p->count - i < RUN ? p->count - i : RUN;
    read_floats(room, x + i, m);
    largest = largest_of(largest, room, m);
  }
  *p->scale = scale_of(largest, p->bits, &factor);
  for (size_t i = 0; i < p->count; i += RUN) {
    const size_t m = p->count - i < RUN ? p->count - i : RUN;
    read_floats(room, x + i, m);
    put_codes(p, i, room, m, factor);
  }
}

void SL_K(sl_quantize)(void *out, const sl_store *x, const struct sl_quantized *s, size_t pieces, size_t turn) {
  const size_t blocks = blocks_of(s), rows = pieces / turn;
#pragma omp parallel for schedule(static) if (pieces * s->n > SL_PARALLEL_MIN)
  for (size_t i = 0; i < pieces * blocks; i++) {
    const size_t piece = i / blocks;
    const struct place p = place_of(s, out, piece % rows * turn + piece / rows, i % blocks);
    quantize_block(&p, x + piece * s->n + p.first);
  }
  for (size_t piece = 0; piece < pieces; piece++) close_piece(s, out, piece);
}

void SL_K(sl_quantize_back)(sl_store *out, const void *x, const struct sl_quantized *s, size_t pieces) {
  const size_t blocks = blocks_of(s);
#pragma omp parallel for schedule(static) if (pieces * s->n > SL_PARALLEL_MIN)
  for (size_t b = 0; b < pieces * blocks; b++) {
    const struct place p = place_of(s, x, b / blocks, b % blocks);
    float room[RUN];
    for (size_t i = 0; i < p.count; i += RUN) {
      const size_t m = p.count - i < RUN ? p.count - i : RUN;
      memset(room, 0, m * sizeof *room);
      add_codes(room, &p, i, m);
      write_floats(out + b / blocks * s->n + p.first + i, room, m);
    }
  }
}

/* Adds the numbers [at, at + m) of block `b` of piece `piece` of all sources to `room`. */
static void sum_sources(float *room, const void *x, const struct sl_quantized *s, size_t sources, size_t pieces,
                        size_t piece, size_t b, size_t at, size_t m) {
  for (size_t k = 0; k < sources; k++) {
    const struct place p = place_of(s, x, k * pieces + piece, b);
    add_codes(room, &p, at, m);
  }
}

void SL_K(sl_quantize_sum)(sl_store *out, const void *x, const struct sl_quantized *s, size_t pieces, int accumulate) {
#pragma omp parallel for schedule(static) if (pieces * s->n > SL_PARALLEL_MIN)
  for (size_t b = 0; b < blocks_of(s); b++) {
    const struct place p = place_of(s, x, 0, b);
    float room[RUN];
    for (size_t i = 0; i < p.count; i += RUN) {
      const size_t m = p.count - i < RUN ? p.count - i : RUN;
      if (accumulate)
        read_floats(room, out + p.first + i, m);
      else
        memset(room, 0, m * sizeof *room);
      sum_sources(room, x, s, pieces, 1, 0, b, i, m);
      write_floats(out + p.first + i, room, m);
    }
  }
}

/* Finds the largest sum of a block in a first pass, and writes its codes in a second. */
static void quantize_sums(const struct place *to, const void *x, const struct sl_quantized *s, size_t sources,
                          size_t pieces, size_t piece, size_t b) {
  float room[RUN], largest = 0, factor = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (size_t i = 0; i < to->count; i += RUN) {
      const size_t m = to->count - i < RUN ? to->count - i : RUN;
      memset(room, 0, m * sizeof *room);
      sum_sources(room, x, s, sources, pieces, piece, b, i, m);
      if (pass == 0)
        largest = largest_of(largest, room, m);
      else
        put_codes(to, i, room, m, factor);
    }
    if (pass == 0) *to->scale = scale_of(largest, to->bits, &factor);
  }
}

void SL_K(sl_quantize_again)(void *out, const void *x, const struct sl_quantized *s, size_t sources, size_t pieces) {
  const size_t blocks = blocks_of(s);
#pragma omp parallel for schedule(static) if (sources * pieces * s->n > SL_PARALLEL_MIN)
  for (size_t i = 0; i < pieces * blocks; i++) {
    const struct place to = place_of(s, out, i / blocks, i % blocks);
    quantize_sums(&to, x, s, sources, pieces, i / blocks, i % blocks);
  }
  for (size_t piece = 0; piece < pieces; piece++) close_piece(s, out, piece);
}
