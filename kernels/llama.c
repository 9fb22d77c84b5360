/* RMSNorm, rotary positions and SwiGLU on the host (kernels/llama.h). */
#include "kernels/llama.h"
#include "kernels/numbers/run.h"
#include "kernels/parallel.h"
#include "kernels/rotary.h"
#include "kernels/row_blocks.h"
#include "kernels/vecmath.h"

#include <string.h>

#define CHUNK ((size_t)1024)     /* elements summed in sl_real before the sum is added in double; at most one run */
#define ROPE_PAIRS ((size_t)256) /* angles kept at a time; at most one run */

/* The sum of a[i] * b[i] * c[i]; c may be NULL, which counts as 1. */
static double row_dot(const sl_store *a, const sl_store *b, const sl_store *c, size_t n) {
  sl_room a_room, b_room, c_room;
  double total = 0;
  for (size_t i0 = 0; i0 < n; i0 += CHUNK) {
    const size_t m = n - i0 < CHUNK ? n - i0 : CHUNK;
    const sl_real *x = sl_open(a_room, a + i0, m), *y = sl_open(b_room, b + i0, m);
    const sl_real *z = c ? sl_open(c_room, c + i0, m) : NULL;
    sl_real sum = 0;
    if (z) {
#pragma omp simd reduction(+ : sum)
      for (size_t i = 0; i < m; i++) sum += x[i] * y[i] * z[i];
    } else {
#pragma omp simd reduction(+ : sum)
      for (size_t i = 0; i < m; i++) sum += x[i] * y[i];
    }
    total += (double)sum;
  }
  return total;
}

/* `one`: a constant that is added to each weight. */
static void rmsnorm_scale(sl_store *out, const sl_store *x, const sl_store *weight, sl_real rstd, size_t C,
                          sl_real one) {
  sl_room x_room, weight_room, out_room;
  for (size_t c0 = 0, n; c0 < C; c0 += n) {
    n = sl_run(C - c0);
    const sl_real *in = sl_open(x_room, x + c0, n), *w = sl_open(weight_room, weight + c0, n);
    sl_real *o = sl_begin(out_room, out + c0);
#pragma omp simd
    for (size_t c = 0; c < n; c++) o[c] = in[c] * rstd * (w[c] + one);
    sl_finish(out + c0, o, n);
  }
}

void SL_K(sl_llama_rmsnorm_forward)(sl_store *out, sl_real *rstd, const sl_store *x, const sl_store *weight,
                                    size_t rows, size_t C, float eps, int from_one) {
#pragma omp parallel for schedule(static) if (rows * C > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) {
    const sl_store *in = x + r * C;
    rstd[r] = (sl_real)(1 / sqrt(row_dot(in, in, NULL, C) / (double)C + (double)eps));
    rmsnorm_scale(out + r * C, in, weight, rstd[r], C, from_one ? 1 : 0);
  }
}

size_t SL_K(sl_llama_rmsnorm_scratch_bytes)(size_t rows, size_t C) {
  return sl_row_block_count(rows) * C * sizeof(sl_real);
}

/* Computes dx, and adds the row's contribution to dweight; either may be NULL. */
static void rmsnorm_row(sl_store *dx, int accumulate, sl_real *dweight, const sl_store *dout, const sl_store *x,
                        const sl_store *weight, sl_real rstd, size_t C, sl_real one) {
  sl_room dout_room, x_room, weight_room, dx_room;
  for (size_t c0 = 0, n; dweight && c0 < C; c0 += n) {
    n = sl_run(C - c0);
    const sl_real *d = sl_open(dout_room, dout + c0, n), *in = sl_open(x_room, x + c0, n);
    sl_real *dw = dweight + c0;
#pragma omp simd
    for (size_t c = 0; c < n; c++) dw[c] += d[c] * (in[c] * rstd);
  }
  if (!dx) return;
  /* mean(g * norm) * rstd, with g = dout * weight and norm = x * rstd */
  const double s = (double)rstd, ones = one != 0 ? row_dot(dout, x, NULL, C) : 0;
  const sl_real slope = (sl_real)((row_dot(dout, weight, x, C) + ones) * s * s * s / (double)C);
  for (size_t c0 = 0, n; c0 < C; c0 += n) {
    n = sl_run(C - c0);
    const sl_real *d = sl_open(dout_room, dout + c0, n), *in = sl_open(x_room, x + c0, n);
    const sl_real *w = sl_open(weight_room, weight + c0, n);
    sl_real *o = accumulate ? sl_change(dx_room, dx + c0, n) : sl_begin(dx_room, dx + c0);
    if (accumulate) {
#pragma omp simd
      for (size_t c = 0; c < n; c++) o[c] += rstd * d[c] * (w[c] + one) - in[c] * slope;
    } else {
#pragma omp simd
      for (size_t c = 0; c < n; c++) o[c] = rstd * d[c] * (w[c] + one) - in[c] * slope;
    }
    sl_finish(dx + c0, o, n);
  }
}

void SL_K(sl_llama_rmsnorm_backward)(sl_store *dx, int accumulate_dx, void *dweight, int in_fp32, int accumulate,
                                     const sl_store *dout, const sl_store *x, const sl_store *weight,
                                     const sl_real *rstd, size_t rows, size_t C, int from_one, void *scratch) {
  sl_real *partial = scratch;
  const size_t blocks = sl_row_block_count(rows), each = sl_row_block_rows(rows);
#pragma omp parallel for schedule(static) if (rows * C > SL_PARALLEL_MIN)
  for (size_t b = 0; b < blocks; b++) {
    size_t end = (b + 1) * each < rows ? (b + 1) * each : rows;
    sl_real *dw = dweight ? partial + b * C : NULL;
    if (dw) memset(dw, 0, C * sizeof *dw);
    for (size_t r = b * each; r < end; r++) {
      rmsnorm_row(dx ? dx + r * C : NULL, accumulate_dx, dw, dout + r * C, x + r * C, weight, rstd[r], C,
                  from_one ? 1 : 0);
    }
  }
  if (!dweight) return;
  /* adds the blocks in order, into the first */
  for (size_t b = 1; b < blocks; b++) {
#pragma omp simd
    for (size_t c = 0; c < C; c++) partial[c] += partial[b * C + c];
  }
  for (size_t c = 0; c < C; c++) sl_put_sum(dweight, c, in_fp32, (double)partial[c], accumulate);
}

/* The angles of one position for pairs [i0, i0 + n), rounded as in torch: frequency and product are computed in
 * sl_real. */
static void rope_angles(sl_real *cosine, sl_real *sine, size_t position, size_t i0, size_t n, size_t dim,
                        const struct sl_rope *rope, int direction) {
  const double by = rope->attention > 0 ? rope->attention : 1;
  for (size_t i = 0; i < n; i++) {
    const sl_real frequency = (sl_real)sl_rope_frequency(rope, dim, i0 + i);
    const double angle = (double)((sl_real)position * frequency);
    cosine[i] = (sl_real)(by * cos(angle));
    sine[i] = (sl_real)(direction * by * sin(angle));
  }
}

/* Rotates n <= ROPE_PAIRS pairs of a head: x[i] with y[i]. */
static void rope_turn(sl_store *x, sl_store *y, const sl_real *cosine, const sl_real *sine, size_t n) {
  sl_room x_room, y_room;
  sl_real *a = sl_change(x_room, x, n), *b = sl_change(y_room, y, n);
#pragma omp simd
  for (size_t i = 0; i < n; i++) {
    const sl_real from = a[i];
    a[i] = from * cosine[i] - b[i] * sine[i];
    b[i] = b[i] * cosine[i] + from * sine[i];
  }
  sl_finish(x, a, n);
  sl_finish(y, b, n);
}

/* The same for neighbours: x[2i] with x[2i + 1]. */
static void rope_turn_neighbours(sl_store *x, const sl_real *cosine, const sl_real *sine, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const sl_real a = sl_load(x[2 * i]), b = sl_load(x[2 * i + 1]);
    x[2 * i] = sl_put(a * cosine[i] - b * sine[i]);
    x[2 * i + 1] = sl_put(b * cosine[i] + a * sine[i]);
  }
}

void SL_K(sl_llama_rope)(sl_store *x, const struct sl_rope_shape *shape, size_t first_position,
                         const struct sl_rope *rope, int direction) {
  const struct sl_rope_shape s = *shape;
  const size_t dim = rope->dim ? rope->dim : s.D, half = dim / 2;
#pragma omp parallel for schedule(static) if (s.B * s.T * s.heads * s.D > SL_PARALLEL_MIN)
  for (size_t t = 0; t < s.T; t++) {
    sl_real cosine[ROPE_PAIRS], sine[ROPE_PAIRS];
    for (size_t i = 0; i < half; i += ROPE_PAIRS) {
      const size_t n = half - i < ROPE_PAIRS ? half - i : ROPE_PAIRS;
      rope_angles(cosine, sine, first_position + sl_position(&s.at, t), i, n, dim, rope, direction);
      for (size_t bh = 0; bh < s.B * s.heads; bh++) {
        const size_t h = bh % s.heads;
        sl_store *head = x + (bh / s.heads * s.T + t) * s.stride + h * s.step + (s.group ? h / s.group * s.gap : 0);
        if (rope->interleaved)
          rope_turn_neighbours(head + 2 * i, cosine, sine, n);
        else
          rope_turn(head + i, head + i + half, cosine, sine, n);
      }
    }
  }
}

/* exp(-g), bounded so that it stays finite (as in gelu.c). */
static inline sl_real exp_minus(sl_real g) {
  return sl_exp(-g > 80 ? 80 : -g);
}

static void swiglu_row(sl_store *out, const sl_store *gate, const sl_store *up, size_t cols) {
  sl_room gate_room, up_room, out_room;
  for (size_t c0 = 0, n; c0 < cols; c0 += n) {
    n = sl_run(cols - c0);
    const sl_real *g = sl_open(gate_room, gate + c0, n), *u = sl_open(up_room, up + c0, n);
    sl_real *o = sl_begin(out_room, out + c0);
#pragma omp simd
    for (size_t c = 0; c < n; c++) o[c] = g[c] / (1 + exp_minus(g[c])) * u[c];
    sl_finish(out + c0, o, n);
  }
}

void SL_K(sl_llama_swiglu_forward)(sl_store *out, const sl_store *gate, const sl_store *up, size_t rows, size_t cols,
                                   size_t stride) {
#pragma omp parallel for schedule(static) if (rows * cols > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) swiglu_row(out + r * cols, gate + r * stride, up + r * stride, cols);
}

static void swiglu_backward_row(sl_store *dgate, sl_store *dup, const sl_store *dout, const sl_store *gate,
                                const sl_store *up, size_t cols) {
  sl_room gate_room, up_room, dout_room, dgate_room, dup_room;
  for (size_t c0 = 0, n; c0 < cols; c0 += n) {
    n = sl_run(cols - c0);
    const sl_real *g = sl_open(gate_room, gate + c0, n), *u = sl_open(up_room, up + c0, n);
    const sl_real *d = sl_open(dout_room, dout + c0, n);
    sl_real *dg = sl_begin(dgate_room, dgate + c0), *du = sl_begin(dup_room, dup + c0);
#pragma omp simd
    for (size_t c = 0; c < n; c++) {
      sl_real gc = g[c], uc = u[c], dc = d[c];
      sl_real e = exp_minus(gc), s = 1 / (1 + e);
      du[c] = dc * gc * s;
      dg[c] = dc * uc * (s + gc * s * (s * e));
    }
    sl_finish(dgate + c0, dg, n);
    sl_finish(dup + c0, du, n);
  }
}

void SL_K(sl_llama_swiglu_backward)(sl_store *dgate, sl_store *dup, const sl_store *dout, const sl_store *gate,
                                    const sl_store *up, size_t rows, size_t cols, size_t stride) {
#pragma omp parallel for schedule(static) if (rows * cols > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) {
    const size_t at = r * stride;
    swiglu_backward_row(dgate + at, dup + at, dout + r * cols, gate + at, up + at, cols);
  }
}
