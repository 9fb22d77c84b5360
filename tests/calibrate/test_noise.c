/* label: unit
   libs: calibrate sim
 * Random numbers as operands: only a job whose buffers overlap nowhere has them. Buffers of a model share memory, and one
 * that nothing uses may stand where its control block does, which they would overwrite (an H100 showed it). */
#include "calibrate/calibration.h"
#include "core/job/job.h"
#include "sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int opened[2]; /* jobs without random numbers, and with */

static void no_buffers_overlap(const struct sl_class *c) {
  for (size_t i = 0; i < c->buffer_count; i++) {
    const struct sl_buffer *a = &c->buffers[i];
    const int64_t at = c->slot_offsets[a->first_slot];
    for (size_t k = 0; k < i; k++) {
      const struct sl_buffer *b = &c->buffers[k];
      const int64_t other = c->slot_offsets[b->first_slot];
      if (a->space == b->space && at < other + b->bytes && other < at + a->bytes)
        fail_msg("%s overlaps %s", a->name, b->name);
    }
  }
}

static enum sl_status look(void **state, const struct sl_job *job, const struct sl_exec_options *options,
                           const int **local_ranks, int *local_count) {
  opened[options->noise]++;
  if (options->noise) no_buffers_overlap(&job->classes[0]);
  return sl_exec_sim.open(state, job, options, local_ranks, local_count);
}

static void only_benchmarks_have_random_operands(void **unused) {
  (void)unused;
  struct sl_exec_ops exec = sl_exec_sim;
  exec.open = look;
  for (int gpu = 0; gpu < 2; gpu++) {
    struct sl_calibration c = {.exec = &exec,
                               .grid = gpu ? &sl_calibration_gpu : &sl_calibration_host,
                               .ranks = 1,
                               .threads = 1,
                               .quick = true,
                               .gpu = gpu};
    opened[0] = opened[1] = 0;
    if (sl_calibration_models_run(&c) != SL_OK || sl_calibration_bench(&c) != SL_OK ||
        sl_calibration_offload_run(&c) != SL_OK)
      fail_msg("%s", sl_error_message());
    assert_int_equal(opened[1], gpu); /* the benchmark, on a GPU */
    assert_true(opened[0] > 4);
    sl_points_free(&c.points);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(only_benchmarks_have_random_operands)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
