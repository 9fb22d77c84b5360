/* label: unit
   libs: cost
 * The time of matrix products by their tiles and rows against rates that others measured (experiments/published/gemm):
 * mean error of aligned products, and what rows that are not aligned cost beside the profiles' factors. Prints both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "core/cluster/cluster.h"
#include "cost/gemm.h"

/* Shorter products are not compared: the host waits for each, some ten microseconds. */
static const double shortest = 2e-4;

enum { MAX_SWEEPS = 32, ALIGNED = 0, EVEN, ODD, CLASSES };

/* A GPU's sweep: of the products in each class of rows, the sums of ln(share of the peak reached by padded flops). */
struct sweep {
  char gpu[16], name[64];
  int count[CLASSES];
  double log_share[CLASSES], error; /* mean |share / the sweep's mean share - 1| of aligned products */
};
static struct sweep sweeps[MAX_SWEEPS];
static int n_sweeps;

static struct sl_cluster devices[2];
static const char *const device_names[] = {"a100-40g", "v100"}, *const gpus[] = {"a100", "v100"};

static const struct sl_device *device_of(const char *gpu) {
  for (int i = 0; i < 2; i++)
    if (strcmp(gpu, gpus[i]) == 0) return &devices[i].device;
  fail_msg("%s is no GPU of the table", gpu);
  return NULL;
}

static struct sweep *sweep_of(const char *gpu, const char *name) {
  for (int i = 0; i < n_sweeps; i++)
    if (strcmp(sweeps[i].gpu, gpu) == 0 && strcmp(sweeps[i].name, name) == 0) return &sweeps[i];
  assert_true(n_sweeps < MAX_SWEEPS);
  struct sweep *s = &sweeps[n_sweeps++];
  snprintf(s->gpu, sizeof s->gpu, "%s", gpu);
  snprintf(s->name, sizeof s->name, "%s", name);
  return s;
}

/* ln of the share of its peak at which the device did the padded flops of a product, and the class of its rows; false if
 * it was too short. */
static bool log_share(const struct sl_device *d, int64_t batch, const int64_t size[3], double rate, double *share,
                      int *class) {
  const struct sl_work work = {.kind = SL_OP_GEMM, .dtype = SL_F16, .dim = {size[0], size[1], size[2]}};
  const double flops = 2.0 * (double)batch * (double)size[0] * (double)size[1] * (double)size[2];
  const double seconds = flops / (rate * 1e12);
  const int64_t rows = sl_gemm_rows(&work);
  *share = log(sl_gemm_padded_flops(d, SL_F16, batch, size[0], size[1], size[2]) / (d->peak[SL_F16] * seconds));
  *class = sl_gemm_is_aligned(SL_F16, rows) ? ALIGNED : rows % 2 == 0 ? EVEN : ODD;
  return seconds >= shortest;
}

/* Calls `row` with the sweep, the class and the logarithm of each product's share. */
static void each_product(void (*row)(struct sweep *sweep, int class, double share)) {
  FILE *file = fopen(SL_SOURCE_DIR "/experiments/published/gemm/products.csv", "r");
  assert_non_null(file);
  char line[256], gpu[16], name[64];
  assert_non_null(fgets(line, sizeof line, file));
  while (fgets(line, sizeof line, file) != NULL) {
    int64_t batch, size[3];
    double rate, share;
    int class;
    if (sscanf(line, "%15[^,],%63[^,],%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%lf", gpu, name, &batch, &size[0],
               &size[1], &size[2], &rate) != 7)
      fail_msg("products.csv: '%s' is no product", line);
    if (log_share(device_of(gpu), batch, size, rate, &share, &class)) row(sweep_of(gpu, name), class, share);
  }
  fclose(file);
}

static void add_share(struct sweep *s, int class, double share) {
  s->count[class]++;
  s->log_share[class] += share;
}

static void add_error(struct sweep *s, int class, double share) {
  if (class == ALIGNED) s->error += fabs(exp(share - s->log_share[ALIGNED] / s->count[ALIGNED]) - 1);
}

static int read_everything(void **unused) {
  (void)unused;
  for (int i = 0; i < 2; i++) assert_int_equal(sl_cluster_load(&devices[i], device_names[i]), SL_OK);
  each_product(add_share);
  each_product(add_error);
  return 0;
}

static int free_everything(void **unused) {
  (void)unused;
  for (int i = 0; i < 2; i++) sl_cluster_free(&devices[i]);
  return 0;
}

static double share_of(const struct sweep *s, int class) {
  return exp(s->log_share[class] / s->count[class]);
}

/* The products of attention's scores come in batches, as do those of the bmm sweeps. */
static bool is_batched(const struct sweep *s) {
  return strncmp(s->name, "bmm/", 4) == 0 || strcmp(s->name, "attention_key_query_prob") == 0 ||
         strcmp(s->name, "attention_prob_times_values") == 0;
}

/* Of all sweeps of a GPU, batched or single ones, that have aligned products and products of `class`: the geometric mean
 * of how much slower these are. */
static double slowdown(const char *gpu, bool batched, int class) {
  double sum = 0;
  int count = 0;
  for (const struct sweep *s = sweeps; s < sweeps + n_sweeps; s++) {
    if (strcmp(s->gpu, gpu) != 0 || is_batched(s) != batched) continue;
    if (s->count[ALIGNED] < 10 || s->count[class] < 10) continue;
    sum += log(share_of(s, ALIGNED) / share_of(s, class));
    count++;
  }
  assert_true(count > 0);
  return exp(sum / count);
}

static void tiles_and_waves_tell_the_time_of_aligned_products(void **unused) {
  (void)unused;
  double error[2] = {0};
  int count[2] = {0};
  for (const struct sweep *s = sweeps; s < sweeps + n_sweeps; s++) {
    print_message("%-5s %-36s %4d aligned: %.3f of the peak, mean error %.1f %%\n", s->gpu, s->name, s->count[ALIGNED],
                  share_of(s, ALIGNED), 100 * s->error / s->count[ALIGNED]);
    if (strcmp(s->gpu, "a100") != 0) continue;
    error[is_batched(s)] += s->error;
    count[is_batched(s)] += s->count[ALIGNED];
  }
  print_message("a100: %d single products %.1f %%, %d batched ones %.1f %%\n", count[0], 100 * error[0] / count[0],
                count[1], 100 * error[1] / count[1]);
  assert_true(count[0] > 3000 && error[0] / count[0] < 0.05);
}

static void rows_that_are_not_aligned_cost_what_the_profile_says(void **unused) {
  (void)unused;
  const double even = slowdown("a100", false, EVEN), odd = slowdown("a100", false, ODD),
               v100 = slowdown("v100", false, EVEN);
  print_message(
      "times as long as aligned ones: rows of an even number of elements %.2f (a100), %.2f (v100), of an odd one "
      "%.2f (a100); batched %.2f and %.2f\n",
      even, v100, odd, slowdown("a100", true, EVEN), slowdown("a100", true, ODD));
  assert_true(fabs(devices[0].device.unaligned_gemm_slowdown / even - 1) < 0.01);
  assert_true(fabs(devices[0].device.odd_gemm_slowdown / odd - 1) < 0.01);
  assert_true(fabs(devices[1].device.unaligned_gemm_slowdown / v100 - 1) < 0.01);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(tiles_and_waves_tell_the_time_of_aligned_products),
                                     cmocka_unit_test(rows_that_are_not_aligned_cost_what_the_profile_says)};
  return cmocka_run_group_tests(tests, read_everything, free_everything);
}
