/* One-bit momentum on the host (kernels/onebit.h). */
#include "kernels/onebit.h"

#include "kernels/convert.h"
#include "kernels/optimizer_inline.h"
#include "kernels/parallel.h"

#include <math.h>
#include <string.h>

#define RUN ((size_t)128)

static const char *piece_at(const void *packed, const struct sl_signs *s, size_t piece) {
  return (const char *)packed + piece * s->stride;
}

static float scale_of(const char *piece) {
  float scale;
  memcpy(&scale, piece, sizeof scale);
  return scale;
}

/* The decoded number `i` of a piece. */
static inline float number_of(const char *piece, float scale, size_t i) {
  const uint8_t *bits = (const uint8_t *)piece + sizeof scale;
  return bits[i / 8] >> i % 8 & 1 ? scale : -scale;
}

void sl_onebit_blend(float *error, const float *m, const void *grad, enum sl_number grad_type, size_t n, double scale,
                     double beta1) {
  const float factor = (float)scale, fresh = (float)(1 - beta1);
  const size_t each = sl_convert_bytes(grad_type);
#pragma omp parallel for schedule(static) if (n > SL_PARALLEL_MIN)
  for (size_t at = 0; at < n; at += RUN) {
    const size_t count = n - at < RUN ? n - at : RUN;
    float g[RUN];
    sl_convert(g, SL_NUMBER_F32, (const char *)grad + at * each, grad_type, count);
    for (size_t i = 0; i < count; i++) error[at + i] += m[at + i] + fresh * (factor * g[i] - m[at + i]);
  }
}

void sl_onebit_average(float *error, const void *packed, const struct sl_signs *s) {
  const float share = 1 / (float)s->pieces;
#pragma omp parallel for schedule(static) if (s->chunk > SL_PARALLEL_MIN)
  for (size_t i = 0; i < s->chunk; i++) {
    float sum = 0;
    for (size_t k = 0; k < s->pieces; k++) {
      const char *piece = piece_at(packed, s, k);
      sum += number_of(piece, scale_of(piece), i) * share;
    }
    error[i] += sum;
  }
}

static uint8_t pack_byte(float *error, float scale) {
  unsigned bits = 0;
  for (unsigned i = 0; i < 8; i++) {
    const int positive = error[i] >= 0;
    bits |= (unsigned)positive << i;
    error[i] -= positive ? scale : -scale;
  }
  return (uint8_t)bits;
}

void sl_onebit_pack(void *out, float *error, double squares, const struct sl_signs *s) {
  const float scale = (float)sqrt(squares / (double)(s->chunk * s->pieces));
  const size_t bytes = s->chunk / 8, rest = s->stride - sizeof scale - bytes;
  for (size_t k = 0; k < s->pieces; k++) {
    char *piece = (char *)out + k * s->stride;
    uint8_t *bits = (uint8_t *)piece + sizeof scale;
    memcpy(piece, &scale, sizeof scale);
#pragma omp parallel for schedule(static) if (s->chunk > SL_PARALLEL_MIN)
    for (size_t b = 0; b < bytes; b++) bits[b] = pack_byte(error + k * s->chunk + 8 * b, scale);
    memset(bits + bytes, 0, rest);
  }
}

void sl_onebit_adam(float *master, float *m, const float *v, const void *packed, const struct sl_signs *s, void *param,
                    enum sl_number param_type, size_t n, const struct sl_adam *adam) {
  const struct sl_adam_scalars a = sl_adam_scalars_of(adam);
  const size_t each = sl_convert_bytes(param_type);
#pragma omp parallel for schedule(static) if (n > SL_PARALLEL_MIN)
  for (size_t at = 0; at < n; at += RUN) {
    const size_t end = n - at < RUN ? n : at + RUN;
    for (size_t i = at; i < end; i++) {
      const char *piece = piece_at(packed, s, i / s->chunk);
      m[i] = v[i] > 0 ? number_of(piece, scale_of(piece), i % s->chunk) : 0;
      master[i] = a.keep * master[i] - a.rate * (m[i] / (SL_SQRT(v[i]) * a.inv_root + a.eps));
    }
    if (param) sl_convert((char *)param + at * each, param_type, master + at, SL_NUMBER_F32, end - at);
  }
}
