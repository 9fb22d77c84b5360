/* RMSNorm, rotary positions and SwiGLU on the host (kernels/llama.h). */
#include "kernels/llama.h"
#include "kernels/parallel.h"
#include "kernels/vecmath.h"

#include <string.h>

#define CHUNK ((size_t)1024) /* elements summed in sl_real before going to double */
#define MAX_BLOCKS ((size_t)128)

/* Sum of a[i] * b[i] * c[i]; b and c may be the same row, c NULL counts as 1. */
static double row_dot(const sl_store *a, const sl_store *b, const sl_store *c, size_t n) {
  double total = 0;
  for (size_t i0 = 0; i0 < n; i0 += CHUNK) {
    size_t i1 = n - i0 < CHUNK ? n : i0 + CHUNK;
    sl_real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = i0; i < i1; i++) sum += sl_load(a[i]) * sl_load(b[i]) * (c ? sl_load(c[i]) : 1);
    total += (double)sum;
  }
  return total;
}

void SL_K(sl_llama_rmsnorm_forward)(sl_store *out, sl_real *rstd, const sl_store *x, const sl_store *weight,
                                    size_t rows, size_t C, float eps) {
#pragma omp parallel for schedule(static) if (rows * C > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) {
    const sl_store *in = x + r * C;
    sl_store *o = out + r * C;
    const sl_real s = (sl_real)(1 / sqrt(row_dot(in, in, NULL, C) / (double)C + (double)eps));
#pragma omp simd
    for (size_t c = 0; c < C; c++) o[c] = sl_put(sl_load(in[c]) * s * sl_load(weight[c]));
    rstd[r] = s;
  }
}

static size_t block_rows(size_t rows) {
  size_t each = (rows + MAX_BLOCKS - 1) / MAX_BLOCKS;
  return each < 8 ? 8 : each;
}

static size_t block_count(size_t rows) {
  return (rows + block_rows(rows) - 1) / block_rows(rows);
}

size_t SL_K(sl_llama_rmsnorm_scratch_bytes)(size_t rows, size_t C) {
  return block_count(rows) * C * sizeof(sl_real);
}

/* dx and the row's share in dweight, each unless NULL. */
static void rmsnorm_row(sl_store *dx, int accumulate, sl_real *dweight, const sl_store *dout, const sl_store *x,
                        const sl_store *weight, sl_real rstd, size_t C) {
  if (dweight) {
#pragma omp simd
    for (size_t c = 0; c < C; c++) dweight[c] += sl_load(dout[c]) * (sl_load(x[c]) * rstd);
  }
  if (!dx) return;
  /* mean(g * norm) * rstd, with g = dout * weight and norm = x * rstd */
  const double s = (double)rstd;
  const sl_real slope = (sl_real)(row_dot(dout, weight, x, C) * s * s * s / (double)C);
  if (accumulate) {
#pragma omp simd
    for (size_t c = 0; c < C; c++) {
      dx[c] = sl_put(sl_load(dx[c]) + (rstd * sl_load(dout[c]) * sl_load(weight[c]) - sl_load(x[c]) * slope));
    }
  } else {
#pragma omp simd
    for (size_t c = 0; c < C; c++) {
      dx[c] = sl_put(rstd * sl_load(dout[c]) * sl_load(weight[c]) - sl_load(x[c]) * slope);
    }
  }
}

void SL_K(sl_llama_rmsnorm_backward)(sl_store *dx, int accumulate_dx, sl_store *dweight, int accumulate,
                                     const sl_store *dout, const sl_store *x, const sl_store *weight,
                                     const sl_real *rstd, size_t rows, size_t C, void *scratch) {
  sl_real *partial = scratch;
  const size_t blocks = block_count(rows), each = block_rows(rows);
#pragma omp parallel for schedule(static) if (rows * C > SL_PARALLEL_MIN)
  for (size_t b = 0; b < blocks; b++) {
    size_t end = (b + 1) * each < rows ? (b + 1) * each : rows;
    sl_real *dw = dweight ? partial + b * C : NULL;
    if (dw) memset(dw, 0, C * sizeof *dw);
    for (size_t r = b * each; r < end; r++) {
      rmsnorm_row(dx ? dx + r * C : NULL, accumulate_dx, dw, dout + r * C, x + r * C, weight, rstd[r], C);
    }
  }
  if (!dweight) return;
  /* The blocks are added in order, into the first. */
  for (size_t b = 1; b < blocks; b++) {
#pragma omp simd
    for (size_t c = 0; c < C; c++) partial[c] += partial[b * C + c];
  }
  for (size_t c = 0; c < C; c++) dweight[c] = sl_put(accumulate ? sl_load(dweight[c]) + partial[c] : partial[c]);
}

void SL_K(sl_llama_rope)(sl_store *x, size_t B, size_t T, size_t heads, size_t D, size_t stride, size_t first_position,
                         double base, int direction) {
  const size_t half = D / 2;
#pragma omp parallel for schedule(static) if (B * T * heads * D > SL_PARALLEL_MIN)
  for (size_t t = 0; t < T; t++) {
    for (size_t i = 0; i < half; i++) {
      /* The angle is rounded as torch rounds it: frequency and product in the precision of the computation. */
      const sl_real frequency = (sl_real)pow(base, -2.0 * (double)i / (double)D);
      const double angle = (double)((sl_real)(first_position + t) * frequency);
      const sl_real cosine = (sl_real)cos(angle), sine = (sl_real)(direction * sin(angle));
      for (size_t bh = 0; bh < B * heads; bh++) {
        sl_store *head = x + (bh / heads * T + t) * stride + bh % heads * D;
        const sl_real a = sl_load(head[i]), b = sl_load(head[i + half]);
        head[i] = sl_put(a * cosine - b * sine);
        head[i + half] = sl_put(b * cosine + a * sine);
      }
    }
  }
}

/* exp(-g), bounded so that it stays finite (as in gelu.c). */
static inline sl_real exp_minus(sl_real g) {
  return sl_exp(-g > 80 ? 80 : -g);
}

void SL_K(sl_llama_swiglu_forward)(sl_store *out, const sl_store *gate, const sl_store *up, size_t rows, size_t cols,
                                   size_t stride) {
#pragma omp parallel for schedule(static) if (rows * cols > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) {
    const sl_store *g = gate + r * stride, *u = up + r * stride;
    sl_store *o = out + r * cols;
#pragma omp simd
    for (size_t c = 0; c < cols; c++) {
      sl_real gc = sl_load(g[c]);
      o[c] = sl_put(gc / (1 + exp_minus(gc)) * sl_load(u[c]));
    }
  }
}

void SL_K(sl_llama_swiglu_backward)(sl_store *dgate, sl_store *dup, const sl_store *dout, const sl_store *gate,
                                    const sl_store *up, size_t rows, size_t cols, size_t stride) {
#pragma omp parallel for schedule(static) if (rows * cols > SL_PARALLEL_MIN)
  for (size_t r = 0; r < rows; r++) {
    const sl_store *g = gate + r * stride, *u = up + r * stride, *d = dout + r * cols;
    sl_store *dg = dgate + r * stride, *du = dup + r * stride;
#pragma omp simd
    for (size_t c = 0; c < cols; c++) {
      sl_real gc = sl_load(g[c]), uc = sl_load(u[c]), dc = sl_load(d[c]);
      sl_real e = exp_minus(gc), s = 1 / (1 + e);
      du[c] = sl_put(dc * gc * s);
      dg[c] = sl_put(dc * uc * (s + gc * s * (s * e)));
    }
  }
}
