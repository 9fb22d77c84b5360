/* label: unit
   libs: fit
 * A profile of a GPU: whole tiles, rows that tensor cores cannot load at once, and what events around an op add. */
#include "cost/gemm.h"
#include "cost/measured.h"
#include "tests/support/fit_points.h"

static const double overhead = 2e-6, launch = 3e-6, aligned = 700e12, unaligned = 200e12, idle = 1500e12;

static void open_gpu(struct sl_points *points, struct sl_cluster *gpu) {
  open_points(points);
  json_decref(points->cluster);
  assert_int_equal(sl_cluster_load(gpu, "h100x1"), SL_OK);
  points->cluster = sl_cluster_to_json(gpu);
}

/* The product (m, n, k) of rows of n, or k where b is transposed, as this GPU does it, and timed by itself. */
static struct sl_point product_on(const struct sl_device *d, int64_t m, int64_t n, int64_t k, bool whole) {
  struct sl_point p = {.kind = SL_OP_GEMM, .dtype = SL_BF16, .ranks = 1, .parts = 1, .repeats = 3, .count = 1};
  p.dim[0] = m, p.dim[1] = n, p.dim[2] = k;
  p.bytes = 2.0 * (double)(m * k + k * n + m * n);
  const double flops = 2.0 * (double)m * (double)n * (double)k;
  const double idled = sl_gemm_padded_flops(d, SL_BF16, 1, m, n, k) - flops;
  p.median_s = p.low_s = p.high_s = overhead + launch + flops / (whole ? aligned : unaligned) + idled / idle;
  snprintf(p.source, sizeof p.source, "m");
  return p;
}

static void rates_of_whole_and_of_unaligned_rows(void **unused) {
  (void)unused;
  static struct sl_fit fit;
  static struct sl_cluster gpu;
  struct sl_points points;
  double sum = 0;
  open_gpu(&points, &gpu);
  state = 31;
  for (int i = 0; i < POINTS; i++) {
    const int64_t m = 128 + (int64_t)(8000 * uniform()), n = 64 * (1 + (int64_t)(80 * uniform())),
                  k = 64 * (1 + (int64_t)(80 * uniform()));
    const int64_t odd = i % 3 == 0;
    const struct sl_point p = product_on(&gpu.device, m, n + odd, k, !odd);
    sum += p.median_s;
    assert_int_equal(sl_points_add(&points, &p), SL_OK);
  }
  struct sl_point_step s = {.name = "m", .ranks = 1, .ops = POINTS, .compute_s = sum, .repeats = 3};
  s.median_s = s.low_s = s.high_s = sum - POINTS * overhead;
  assert_int_equal(sl_points_add_step(&points, &s), SL_OK);
  assert_int_equal(sl_fit_points(&fit, &points), SL_OK);
  const struct sl_op_cost *c = &fit.profile.op_costs.items[0];
  assert_true(fabs(fit.overhead_s / overhead - 1) < 1e-6);
  assert_true(fit.profile.device.launch_latency < 1e-9);
  assert_true(fabs(c->seconds[SL_TERM_LAUNCH] / launch - 1) < 0.02);
  assert_true(fabs(c->seconds[SL_TERM_FLOPS] * aligned - 1) < 0.01);
  assert_true(fabs(c->seconds[SL_TERM_UNALIGNED] * unaligned - 1) < 0.01);
  assert_true(fabs(c->seconds[SL_TERM_IDLE] * idle - 1) < 0.02);
  sl_fit_free(&fit);
  sl_points_free(&points);
  sl_cluster_free(&gpu);
}

/* Which rows have to be whole depends on what is transposed; and fp32, which has no tensor cores, is as it was. */
static void rows_are_those_of_the_operands_as_stored(void **unused) {
  (void)unused;
  static struct sl_cluster gpu;
  static const struct {
    enum sl_variant variant;
    int64_t m, n, k;
    bool whole;
  } cases[] = {{SL_VARIANT_PLAIN, 33, 64, 128, true},    {SL_VARIANT_PLAIN, 64, 33, 128, false},
               {SL_VARIANT_PLAIN, 64, 64, 33, false},    {SL_VARIANT_TRANS_A, 64, 64, 33, true},
               {SL_VARIANT_TRANS_A, 33, 64, 64, false},  {SL_VARIANT_TRANS_B, 33, 64, 64, true},
               {SL_VARIANT_BGRAD_A, 64, 64, 33, true},   {SL_VARIANT_DGELU_B, 33, 64, 64, true},
               {SL_VARIANT_TRANS_AB, 64, 64, 36, false}, {SL_VARIANT_GELU, 64, 36, 64, false}};
  assert_int_equal(sl_cluster_load(&gpu, "h100x1"), SL_OK);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int64_t dim[SL_OP_DIMS] = {cases[i].m, cases[i].n, cases[i].k};
    for (int half = 0; half < 2; half++) {
      const struct sl_work work = sl_work_of_shape(SL_OP_GEMM, cases[i].variant, half ? SL_BF16 : SL_F32, dim, 1, 1000);
      const struct sl_work here = sl_cost_as_measured(&gpu.device, 1, &work);
      const double flops = work.terms[SL_TERM_FLOPS];
      const double padded = sl_gemm_padded_flops(&gpu.device, SL_BF16, 1, dim[0], dim[1], dim[2]);
      const bool whole = !half || cases[i].whole;
      assert_true(here.terms[SL_TERM_FLOPS] == (whole ? flops : 0));
      assert_true(here.terms[SL_TERM_UNALIGNED] == (whole ? 0 : flops));
      assert_true(here.terms[SL_TERM_IDLE] == (half ? padded - flops : 0) && padded > flops);
    }
  }
  sl_cluster_free(&gpu);
}

/* Tiles of 64 x 64: the causal half with its diagonal, the end rounded up; a window leaves out what none of it sees. The
 * rest of the GPU waits for the longest block, of which it has two on each of 132 multiprocessors: backward's has the
 * queries of the heads that share its keys, or of a part of these. */
static void attention_takes_whole_tiles(void **unused) {
  (void)unused;
  static struct sl_cluster gpu;
  static const struct {
    int64_t t, h, kv, d, window;
    double tiles, longest;
  } cases[] = {{64, 3, 3, 64, 0, 1, 1},   {65, 3, 3, 64, 0, 3, 2},      {256, 6, 3, 128, 0, 10, 4},
               {256, 3, 3, 64, 64, 7, 4}, {256, 3, 3, 50, 0, 10, 4},    {4096, 64, 64, 64, 0, 2080, 64},
               {256, 9, 3, 64, 0, 10, 4}, {2048, 32, 8, 64, 64, 63, 64}};
  assert_int_equal(sl_cluster_load(&gpu, "h100x1"), SL_OK);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int64_t dim[SL_OP_DIMS] = {2, cases[i].t, cases[i].h, cases[i].d, cases[i].kv, cases[i].window};
    const struct sl_work work = sl_work_of_shape(SL_OP_FLASH_BWD, SL_VARIANT_PLAIN, SL_BF16, dim, 1, 1000);
    const struct sl_work here = sl_cost_as_measured(&gpu.device, 1, &work);
    const double scores = 2 * (double)cases[i].h * 64 * 64 * cases[i].tiles,
                 ratio = scores / work.terms[SL_TERM_SCORES];
    const bool whole = cases[i].d % 8 == 0;
    assert_true(here.terms[SL_TERM_SCORES] == (whole ? scores : 0));
    assert_true(fabs(here.terms[whole ? SL_TERM_FLOPS : SL_TERM_UNALIGNED] / (work.flops * ratio) - 1) < 1e-12);
    const double waited = fmax(0, 264 * 64 * 64 * cases[i].longest / scores - 1);
    assert_true(fabs(here.terms[SL_TERM_IDLE] - (whole ? work.flops * ratio * waited : 0)) <= 1e-9 * work.flops);
  }
  sl_cluster_free(&gpu);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rates_of_whole_and_of_unaligned_rows),
                                     cmocka_unit_test(rows_are_those_of_the_operands_as_stored),
                                     cmocka_unit_test(attention_takes_whole_tiles)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
