/* label: unit
   libs: cost
 * How far a step may be off where formulas price it: what the device's profile says of them, and what the standard errors of its fitted
 * numbers make of a step. */
#include "cost/error.h"

#include "core/cluster/provenance.h"
#include "cost/fitted.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static double error_of(double scatter, double away, bool fitted) {
  const struct sl_device device = {.kind = SL_DEVICE_GPU, .formula_scatter = scatter, .installation_scatter = away};
  const struct sl_cost_rank rank = {.device = &device, .fitted = fitted};
  const struct sl_work work = {.kind = SL_OP_GEMM, .flops = 1e12};
  struct sl_cost_error error;
  assert_int_equal(sl_cost_error_open(&error, &rank), SL_OK);
  sl_cost_error_add(&error, &work);
  const double relative = sl_cost_error_relative(&error, 1);
  sl_cost_error_close(&error);
  return relative;
}

static void formulas_miss_by_their_scatter(void **unused) {
  (void)unused;
  assert_true(error_of(0.0371, 0.2, true) == 0.0371);
  assert_true(error_of(0.0371, 0.2, false) == 0.2);
  assert_true(error_of(0.0371, 0, false) == 0.0371); /* a profile of before */
  assert_true(error_of(0, 0.2, false) == 0.2);       /* a GPU that nothing was fitted to */
  assert_true(error_of(0, 0, true) == 0);
}

/* Two levels, all numbers with a standard error: share 10 % and 20 %, decay 0.05, products 1 %, the rest 4 %, launches
 * 30 %. */
static struct sl_cluster fitted_cluster(void) {
  struct sl_cluster c = {.n_link = 2,
                         .link = {{.bandwidth_share = 0.5}, {.bandwidth_share = 0.8, .bandwidth_decay = 0.4}},
                         .device = {.kind = SL_DEVICE_GPU,
                                    .gemm_efficiency = 0.8,
                                    .elementwise_efficiency = 0.5,
                                    .launch_latency = 4e-6,
                                    .flash_efficiency = {[SL_FLASH_2] = {0.6, 0.4}}},
                         .annotations = json_object()};
  sl_annotation_set(c.annotations, "links[0].bandwidth_share", "fit", 0.05);
  sl_annotation_set(c.annotations, "links[1].bandwidth_share", "fit", 0.16);
  sl_annotation_set(c.annotations, "links[1].bandwidth_decay", "fit", 0.05);
  sl_annotation_set(c.annotations, "device.gemm_efficiency", "fit", 0.008);
  sl_annotation_set(c.annotations, "device.elementwise_efficiency", "fit", 0.02);
  sl_annotation_set(c.annotations, "device.launch_us", "fit", 1.2);
  sl_annotation_set(c.annotations, "device.flash2_backward_efficiency", "fit", 0.08);
  return c;
}

static void fitted_means_links_and_kernels(void **unused) {
  (void)unused;
  struct sl_cluster c = fitted_cluster();
  assert_true(sl_cost_is_fitted(&c, &(struct sl_kernel_costs){.elementwise_factor_error = 0.1}));
  assert_false(sl_cost_is_fitted(&c, &(struct sl_kernel_costs){.elementwise_factor = 1}));
  sl_annotation_set(c.annotations, "links[0].bandwidth_share", "guess", -1);
  sl_annotation_set(c.annotations, "links[1].bandwidth_share", "guess", -1);
  assert_false(sl_cost_is_fitted(&c, &(struct sl_kernel_costs){.elementwise_factor_error = 0.1}));
  json_decref(c.annotations);
}

static double sd_of(struct sl_cost_fitted f, double step_s) {
  return sqrt(sl_cost_fitted_variance(&f, step_s));
}

static bool near(double a, double b) {
  return fabs(a - b) <= 1e-12;
}

static void errors_weigh_by_their_seconds(void **unused) {
  (void)unused;
  struct sl_cluster c = fitted_cluster();
  const struct sl_kernel_costs kernels = {.elementwise_factor_error = 0.03};
  const struct sl_cost_rank rank = {.device = &c.device, .launch = 0.5};
  struct sl_cost_fitted f, of_gemm, of_passes;
  sl_cost_fitted_open(&f, &c, &kernels, 8);
  const struct sl_work gemm = {.kind = SL_OP_GEMM}, update = {.kind = SL_OP_ADAMW},
                       backward = {.kind = SL_OP_FLASH_BWD};
  const struct sl_work pass = {.kind = SL_OP_PASS, .terms = {[SL_TERM_LAUNCH] = 2}};
  of_gemm = of_passes = f;
  sl_cost_fitted_add(&of_gemm, &rank, &gemm, 2.5, 4); /* 8 s and four launches, 2 s */
  assert_true(near(sd_of(of_gemm, 10), hypot(0.8 * 0.01, 0.2 * 0.3)));
  assert_true(near(sd_of(of_gemm, 20), hypot(0.8 * 0.01, 0.2 * 0.3))); /* a bubble grows as compute does */
  sl_cost_fitted_add(&of_passes, &rank, &pass, 5, 1);                  /* 4 s and two launches, 1 s */
  assert_true(near(sd_of(of_passes, 5), sqrt(pow(0.8 * 0.04, 2) + pow(0.8 * 0.03, 2) + pow(0.2 * 0.3, 2))));
  sl_cost_fitted_add(&of_passes, &rank, &update, 5.5, 1); /* its own kernel: the set's factor is not of it */
  assert_true(near(sd_of(of_passes, 10.5), sqrt(pow(9 * 0.04, 2) + pow(4 * 0.03, 2) + pow(1.5 * 0.3, 2)) / 10.5));
  sl_cost_fitted_add(&f, &rank, &backward, 10.5, 1);
  assert_true(near(sd_of(f, 10.5), hypot(10 * 0.2, 0.5 * 0.3) / 10.5)); /* 0.08 of 0.4 */
  json_decref(c.annotations);
}

static void exposed_transfers_count(void **unused) {
  (void)unused;
  struct sl_cluster c = fitted_cluster();
  const struct sl_cost_rank rank = {.device = &c.device};
  const struct sl_work gemm = {.kind = SL_OP_GEMM};
  struct sl_cost_fitted f;
  sl_cost_fitted_open(&f, &c, &(struct sl_kernel_costs){0}, 8);
  sl_cost_fitted_add(&f, &rank, &gemm, 6, 1);
  sl_cost_fitted_add_transfers(&f, false, 6);
  sl_cost_fitted_add_transfers(&f, true, 2);
  const double far = hypot(0.2, 0.05 * log(4));
  assert_true(near(sd_of(f, 6), 0.01));                                                             /* all hidden */
  assert_true(near(sd_of(f, 10), sqrt(pow(6 * 0.01, 2) + pow(3 * 0.1, 2) + pow(1 * far, 2)) / 10)); /* 4 s of 8 */
  assert_true(
      near(sd_of(f, 28), sqrt(pow(20 * 0.01, 2) + pow(6 * 0.1, 2) + pow(2 * far, 2)) / 28)); /* all, and a bubble */
  assert_true(sl_cost_fitted_variance(&f, 0) == 0);
  json_decref(c.annotations);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(formulas_miss_by_their_scatter), cmocka_unit_test(fitted_means_links_and_kernels),
      cmocka_unit_test(errors_weigh_by_their_seconds), cmocka_unit_test(exposed_transfers_count)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
