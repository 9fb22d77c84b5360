/* label: property
   libs: sim
 * Copies between memories and updates in host memory, on the exact clock. Of a CPU one thread does all, op by op, and a link
 * between its two memories carries copies beside it; on a GPU they run beside compute. Either way of finding the times counts
 * the same copies. */
#include "core/op/wire.h"
#include "sim/sim.h"
#include "tests/support/job_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct did {
  enum sl_lane lane;
  double start_s, end_s, link_bytes;
};

struct seen {
  struct did *ops; /* of the last step of rank 0 */
  size_t count, capacity;
};

static void observe(void *context, int local, int64_t step, const struct sl_program *program,
                    const struct sl_completion *done) {
  struct seen *seen = context;
  const struct sl_op *op = &program->ops[program->issues[done->index].op];
  (void)step;
  if (program->kind != SL_PROGRAM_STEP || local > 0 || op->kind == SL_OP_JOIN) return;
  assert_int_equal(sl_grow(&seen->ops, &seen->capacity, seen->count + 1, sizeof *seen->ops), SL_OK);
  const double bytes = sl_op_is_copy(op) ? (double)sl_op_copy_bytes(op, sl_op_slices(program, op)) : 0;
  seen->ops[seen->count++] = (struct did){op->lane, done->start_s, done->end_s, bytes};
}

static void forget(void *context) {
  ((struct seen *)context)->count = 0;
}

static int by_start(const void *a, const void *b) {
  const struct did *x = a, *y = b;
  return x->start_s < y->start_s ? -1 : x->start_s > y->start_s;
}

static void open_job(struct fixture *f, const char *cluster, int stage, int world) {
  char config[512];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 2, \"bf16\": {\"enabled\": true},"
           " \"zero_optimization\": {\"stage\": %d, \"reduce_bucket_size\": 2e5, \"stage3_prefetch_bucket_size\": 1e5,"
           " \"stage3_param_persistence_threshold\": 100, %s \"offload_optimizer\": {\"device\": \"cpu\"}},"
           " \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e-3}}, \"shardlab\": {\"seq_len\": 129}}",
           stage, stage == 3 ? "\"offload_param\": {\"device\": \"cpu\"}," : "");
  if (fixture_open(f, "gpt2-tiny", config, cluster, world, NULL) != SL_OK) fail_msg("%s", sl_error_message());
}

static struct sl_run run_job(const struct fixture *f, struct seen *seen, bool at_once, bool fold) {
  struct sl_run run = {.exec = &sl_exec_sim,
                       .job = &f->job,
                       .options = {.fail_rank = -1, .fold = fold},
                       .steps = 1,
                       .observe = seen != NULL ? observe : NULL,
                       .observe_context = seen,
                       .forget = at_once ? forget : NULL};
  if (sl_run_execute(&run) != SL_OK) fail_msg("%s", sl_error_message());
  return run;
}

static bool by_thread(enum sl_lane lane) {
  return lane == SL_LANE_COMPUTE || lane == SL_LANE_HOST || lane == SL_LANE_H2D || lane == SL_LANE_D2H;
}

/* Without a link nothing on the thread overlaps. */
static void a_cpu_does_one_op_at_a_time(void **state) {
  (void)state;
  for (int stage = 1; stage <= 3; stage++) {
    struct fixture f;
    struct seen seen = {0};
    double until = 0;
    int copies = 0;
    open_job(&f, "localhost", stage, 1);
    struct sl_run run = run_job(&f, &seen, stage == 2, false);
    qsort(seen.ops, seen.count, sizeof *seen.ops, by_start);
    for (size_t i = 0; i < seen.count; i++) {
      const struct did *d = &seen.ops[i];
      if (!by_thread(d->lane)) continue;
      if (d->start_s < until - 1e-12)
        fail_msg("stage %d: an op of lane %s starts at %.9g, before %.9g", stage, sl_lane_name(d->lane), d->start_s,
                 until);
      until = d->end_s;
      copies += d->link_bytes > 0;
    }
    assert_true(copies > 0);
    free(seen.ops);
    sl_run_close(&run);
    fixture_close(&f);
  }
}

/* A link takes its time for each copy, one after the other a way, and compute goes on beside it. */
static void a_link_carries_copies_beside_compute(void **state) {
  (void)state;
  static const double rate = 1e8;
  struct fixture f;
  struct seen seen = {0};
  double until[SL_LANE_COUNT] = {0}, computed_until = 0, beside = 0, linked_until = 0;
  open_job(&f, "localhost", 3, 1);
  f.cluster.device.host_link = rate;
  struct sl_run run = run_job(&f, &seen, false, false);
  qsort(seen.ops, seen.count, sizeof *seen.ops, by_start);
  for (size_t i = 0; i < seen.count; i++) {
    const struct did *d = &seen.ops[i];
    if (d->link_bytes > 0) {
      const double over = until[d->lane] + d->link_bytes / rate; /* the link was busy before, or stood idle */
      if (d->end_s < over - 1e-12) fail_msg("a copy ends at %.9g, its link has it at %.9g", d->end_s, over);
      until[d->lane] = d->end_s;
      if (d->end_s > linked_until) linked_until = d->end_s;
    } else if (d->lane == SL_LANE_COMPUTE) {
      assert_true(d->start_s >= computed_until - 1e-12);
      computed_until = d->end_s;
      if (d->start_s < linked_until) beside += d->end_s - d->start_s;
    }
  }
  assert_true(beside > 0);
  free(seen.ops);
  sl_run_close(&run);
  f.cluster.device.host_link = 1e30;
  struct sl_run fast = run_job(&f, NULL, false, false);
  f.cluster.device.host_link = 0;
  struct sl_run none = run_job(&f, NULL, false, false);
  assert_true(fast.results[0].end_s == none.results[0].end_s);
  sl_run_close(&fast);
  sl_run_close(&none);
  fixture_close(&f);
}

/* What each way's copies of gradients and of parameters take, with pinned memory or without. */
static void time_copies(double *gradients_s, double *params_s, bool optimizer, bool params, double pageable) {
  struct fixture f;
  char config[512];
  snprintf(
      config, sizeof config,
      "{\"train_micro_batch_size_per_gpu\": 2, \"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": "
      "{\"device\": "
      "\"cpu\", \"pin_memory\": %s}, \"offload_param\": {\"device\": \"cpu\", \"pin_memory\": %s}}, \"optimizer\": "
      "{\"type\": \"AdamW\"}, \"shardlab\": {\"seq_len\": 129}}",
      optimizer ? "true" : "false", params ? "true" : "false");
  if (fixture_open(&f, "gpt2-tiny", config, "dgx-a100-80g", 2, NULL) != SL_OK) fail_msg("%s", sl_error_message());
  f.cluster.device.host_link_pageable = pageable;
  f.cluster.device.launch_latency = 0;
  struct sl_run run = run_job(&f, NULL, false, false);
  *gradients_s = *params_s = 0;
  for (int i = 0; i < run.reports[0].traffic_count; i++) {
    const struct sl_traffic *row = &run.reports[0].traffic[i];
    if (row->link != 0) *(row->payload == SL_PAYLOAD_GRADIENT ? gradients_s : params_s) += row->time_s;
  }
  assert_true(*gradients_s > 0 && *params_s > 0);
  sl_run_close(&run);
  fixture_close(&f);
}

/* Copies of what pin_memory is false for go at the rate of pageable memory, where the device says one. */
static void unpinned_memory_is_slower(void **state) {
  (void)state;
  static const double link = 26e9; /* dgx-a100-80g */
  double pinned[2], got[2];
  time_copies(&pinned[0], &pinned[1], true, true, link / 5);
  for (int which = 0; which < 4; which++) {
    const bool optimizer = which & 1, params = which & 2;
    time_copies(&got[0], &got[1], optimizer, params, link / 5);
    assert_true(fabs(got[0] / pinned[0] - (optimizer ? 1 : 5)) < 1e-6);
    assert_true(fabs(got[1] / pinned[1] - (params ? 1 : 5)) < 1e-6);
    time_copies(&got[0], &got[1], optimizer, params, 0);
    assert_true(got[0] == pinned[0] && got[1] == pinned[1]);
  }
}

/* By the event queue or at once, of every rank or of one that stands for all. */
static void copies_are_counted_alike(void **state) {
  (void)state;
  for (int stage = 1; stage <= 3; stage++) {
    struct fixture f;
    struct seen seen = {0};
    int copies = 0;
    open_job(&f, "dgx-a100-80g", stage, 4);
    struct sl_run queue = run_job(&f, &seen, false, false), flow = run_job(&f, &seen, true, false),
                  folded = run_job(&f, &seen, true, true);
    for (int i = 0; i < 4; i++) {
      const struct sl_exec_report *a = &queue.reports[i], *b = &flow.reports[i], *c = &folded.reports[0];
      assert_int_equal(a->traffic_count, b->traffic_count);
      assert_int_equal(a->traffic_count, c->traffic_count);
      for (int row = 0; row < a->traffic_count; row++) {
        assert_memory_equal(&a->traffic[row], &b->traffic[row], sizeof *a->traffic);
        if (a->traffic[row].link == 0) continue;
        assert_memory_equal(&a->traffic[row], &c->traffic[row], sizeof *a->traffic);
        assert_true(a->traffic[row].bytes > 0 && a->traffic[row].time_s > 0);
        copies++;
      }
    }
    assert_true(copies >= 2);
    free(seen.ops);
    sl_run_close(&queue);
    sl_run_close(&flow);
    sl_run_close(&folded);
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_cpu_does_one_op_at_a_time),
      cmocka_unit_test(a_link_carries_copies_beside_compute),
      cmocka_unit_test(unpinned_memory_is_slower),
      cmocka_unit_test(copies_are_counted_alike),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
