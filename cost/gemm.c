/* Tiles and waves of a product; see gemm.h. */
#include "cost/gemm.h"

#include <math.h>
#include <stddef.h>

struct tile {
  int m, n;
  double rate; /* of its inner loop, against the largest tile's */
};

enum { TILES = 8, MAX_SPLIT = 8, LEAST_K_OF_A_SPLIT = 512 };

/* What the tiles of a generation are, from its compute capability on. */
static const struct generation {
  double compute_capability;
  double ramp;      /* prologue and epilogue of a tile, in steps of k */
  double sum_flops; /* flops in whose time an element of a split's partial results is written and added */
  struct tile tile[TILES];
} generations[] = {
    /* clang-format off */
    /* capability  ramp  sum   tiles: m, n, rate */
    {9.0,          160,  1200, {{128, 256, 1}, {256, 128, 1}, {128, 192, .96}, {192, 128, .96}, {128, 128, .90}, {128, 64, .72},
                                {64, 128, .72}, {64, 64, .50}}},
    {0,             96,   640, {{256, 128, 1}, {128, 256, 1}, {128, 128, .95}, {128, 64, .80}, {64, 128, .80}, {64, 64, .62}}},
    /* clang-format on */
};

static const struct generation *generation_of(const struct sl_device *device) {
  const struct generation *g = generations;
  while (device->compute_capability < g->compute_capability) g++;
  return g;
}

static double waves_of(double tiles, int sms) {
  const double waves = tiles / sms;
  return waves < 8 ? ceil(waves) : waves + 0.5;
}

bool sl_gemm_on_cuda_cores(const struct sl_device *device, enum sl_dtype dtype) {
  return dtype == SL_F32 && device->compute_capability > 0 && device->peak[SL_F16] > device->peak[SL_F32];
}

/* In steps of k. */
static double ramp_of(const struct sl_device *device, const struct generation *g, enum sl_dtype dtype) {
  if (dtype == SL_F8) return 2 * g->ramp;
  return sl_gemm_on_cuda_cores(device, dtype) ? g->ramp * device->peak[SL_F32] / device->peak[SL_F16] : g->ramp;
}

double sl_gemm_padded_flops(const struct sl_device *device, enum sl_dtype dtype, int64_t batch, int64_t m, int64_t n,
                            int64_t k) {
  const struct generation *g = generation_of(device);
  const double ramp = ramp_of(device, g, dtype);
  double best = INFINITY;
  for (const struct tile *t = g->tile; t < g->tile + TILES && t->m > 0; t++) {
    const double tiles = (double)batch * ceil((double)m / t->m) * ceil((double)n / t->n);
    for (int split = 1; split <= MAX_SPLIT && (split == 1 || k >= (int64_t)split * LEAST_K_OF_A_SPLIT); split *= 2) {
      const double steps = (double)k / split + ramp, waves = waves_of(tiles * split, device->sm_count);
      const double sums = split > 1 ? g->sum_flops * (double)batch * (double)m * (double)n * split : 0;
      const double flops = 2.0 * t->m * t->n * steps * waves * device->sm_count / t->rate + sums;
      if (flops < best) best = flops;
    }
  }
  return best;
}

int64_t sl_gemm_rows(const struct sl_work *work) {
  const enum sl_variant v = work->variant, base = sl_variant_base(v);
  const bool a = v == SL_VARIANT_TRANS_AB || v == SL_VARIANT_TRANS_A || base == SL_VARIANT_TRANS_A;
  const bool b = v == SL_VARIANT_TRANS_AB || v == SL_VARIANT_TRANS_B || base == SL_VARIANT_TRANS_B;
  const int64_t m = work->dim[0], n = work->dim[1], k = work->dim[2];
  return (a ? m : k) | (b ? k : n) | n;
}

bool sl_gemm_is_aligned(enum sl_dtype dtype, int64_t rows) {
  return rows * sl_dtype_bytes(dtype) % 16 == 0;
}

static double at_least_1(double factor) {
  return factor > 1 ? factor : 1;
}

double sl_gemm_slowdown(const struct sl_device *device, enum sl_dtype dtype, int64_t rows) {
  if (sl_gemm_on_cuda_cores(device, dtype) || sl_gemm_is_aligned(dtype, rows)) return 1;
  const bool odd = rows * sl_dtype_bytes(dtype) % 4 != 0 && device->odd_gemm_slowdown > 0;
  return at_least_1(odd ? device->odd_gemm_slowdown : device->unaligned_gemm_slowdown);
}
