/* Hand-built jobs for tests of the simulator: plans of an empty model, programs built op by op, and a driver of the
 * executor table that is modelled on core's loop.
 *
 * The device moves 1 byte/s and starts ops in no time, so work(s) of `s` bytes takes s seconds and closed forms are
 * exact. */
#pragma once

#include "core/run/executor.h"
#include "sim/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct world {
  struct sl_cluster cluster;
  struct sl_plan plan;
  struct sl_job job;
};

/* A pipeline rank has `apart` classes: 1, or dp if each dp coordinate has its own programs. */
static inline void world_init_apart(struct world *w, int pp, int dp, int tp, int apart) {
  *w = (struct world){0};
  w->cluster = (struct sl_cluster){.devices_per_node = 1 << 20, .n_link = 1};
  w->cluster.device = (struct sl_device){.name = "unit",
                                         .kind = SL_DEVICE_GPU,
                                         .memory_bandwidth = 1,
                                         .gemm_efficiency = 1,
                                         .attention_efficiency = 1,
                                         .elementwise_efficiency = 1};
  w->cluster.link[0] = (struct sl_link){.name = "wire", .span = 1 << 20, .bandwidth = 1};
  static const struct sl_model none;
  static const struct sl_config usual; /* an optimizer whose steps are all of one kind */
  w->plan = (struct sl_plan){.model = &none,
                             .config = &usual,
                             .cluster = &w->cluster,
                             .world = pp * dp * tp,
                             .tp = tp,
                             .cp = 1,
                             .dp = dp,
                             .dp_cp = dp,
                             .pp = pp,
                             .shard = dp,
                             .secondary = 1};
  w->job = (struct sl_job){.plan = &w->plan, .class_count = pp * apart, .classes_per_pp_rank = apart};
  assert_int_equal(sl_calloc(&w->job.classes, (size_t)w->job.class_count, sizeof *w->job.classes), SL_OK);
  for (int i = 0; i < w->job.class_count; i++) {
    struct sl_class *c = &w->job.classes[i];
    c->pp_rank = i / apart;
    c->rank_count = dp * tp / apart;
    c->first_rank = i * c->rank_count;
    for (int k = 0; k < SL_PROGRAM_COUNT; k++) c->programs[k].kind = (enum sl_program_kind)k;
  }
}

static inline void world_init(struct world *w, int pp, int dp, int tp) {
  world_init_apart(w, pp, dp, tp, 1);
}

static inline void world_free(struct world *w) {
  for (int i = 0; i < w->job.class_count; i++) {
    for (int k = 0; k < SL_PROGRAM_COUNT; k++) {
      struct sl_program *p = &w->job.classes[i].programs[k];
      free(p->ops);
      free(p->slices);
      free(p->instances);
      free(p->issues);
      free(p->waits);
    }
  }
  free(w->job.classes);
}

static inline struct sl_program *step_of(struct world *w, int stage) {
  return &w->job.classes[stage].programs[SL_PROGRAM_STEP];
}

/* Appends `op` with `count` operands of the given bytes, as an op and an issue of action `action`; returns the
 * issue. */
static inline uint32_t add_op(struct sl_program *p, struct sl_op op, const int64_t *bytes, int count,
                              enum sl_action_kind action, int stage, int micro_batch) {
  assert_int_equal(sl_grow(&p->ops, &p->op_capacity, p->op_count + 1, sizeof *p->ops), SL_OK);
  assert_int_equal(sl_grow(&p->slices, &p->slice_capacity, p->slice_count + (size_t)count, sizeof *p->slices), SL_OK);
  assert_int_equal(sl_grow(&p->instances, &p->instance_capacity, p->instance_count + 1, sizeof *p->instances), SL_OK);
  assert_int_equal(sl_grow(&p->issues, &p->issue_capacity, p->issue_count + 1, sizeof *p->issues), SL_OK);
  assert_int_equal(sl_grow(&p->waits, &p->wait_capacity, p->wait_count + 4, sizeof *p->waits), SL_OK);
  op.slice = (int32_t)p->slice_count;
  op.slice_count = count;
  for (int i = 0; i < count; i++) {
    p->slices[p->slice_count++] = (struct sl_slice){.access = SL_WRITE, .bytes = bytes[i]};
  }
  p->ops[p->op_count] = op;
  p->instances[p->instance_count] = (struct sl_instance){.action = {action, stage, micro_batch},
                                                         .first_op = (int32_t)p->op_count,
                                                         .op_count = 1,
                                                         .micro_batch = micro_batch};
  p->issues[p->issue_count] = (struct sl_issue){.op = (uint32_t)p->op_count++,
                                                .instance = (uint32_t)p->instance_count++,
                                                .wait = (uint32_t)p->wait_count,
                                                .lane_index = p->lane_ops[op.lane]++ & 0xffffffu};
  return (uint32_t)p->issue_count++;
}

/* Makes the last op wait for issue `before` of the same program. */
static inline void wait_for(struct sl_program *p, uint32_t before) {
  const struct sl_issue *b = &p->issues[before];
  struct sl_issue *last = &p->issues[p->issue_count - 1];
  assert_int_equal(sl_grow(&p->waits, &p->wait_capacity, p->wait_count + 1, sizeof *p->waits), SL_OK);
  p->waits[p->wait_count++] = (struct sl_wait){.lane = p->ops[b->op].lane, .count = b->lane_index + 1u};
  last->wait_count++;
}

static inline uint32_t add_work(struct sl_program *p, int64_t seconds) {
  struct sl_op op = {.kind = SL_OP_FILL, .lane = SL_LANE_COMPUTE, .group = SL_GROUP_NONE};
  return add_op(p, op, &seconds, 1, SL_ACTION_FORWARD, 0, 0);
}

/* Adds a collective of `elements` one-byte elements: in place, or an all-gather or reduce-scatter with equal shards. */
static inline uint32_t add_collective(struct sl_program *p, enum sl_op_kind kind, enum sl_group group, int64_t elements,
                                      int members) {
  struct sl_op op = {.kind = kind,
                     .lane = sl_lane_of_group(group),
                     .group = group,
                     .dtype = SL_U8,
                     .payload = SL_PAYLOAD_GRADIENT,
                     .dim = {elements}};
  int64_t whole_first[2] = {elements, elements / members}, shard_first[2] = {elements / members, elements};
  bool paired = kind == SL_OP_REDUCE_SCATTER || kind == SL_OP_ALL_GATHER;
  return add_op(p, op, kind == SL_OP_ALL_GATHER ? shard_first : whole_first, paired ? 2 : 1, SL_ACTION_REDUCE_GRAD, 0,
                -1);
}

static inline uint32_t add_p2p(struct sl_program *p, enum sl_lane lane, int stage, int peer, int64_t bytes,
                               int micro_batch) {
  bool sends = lane == SL_LANE_SEND_F || lane == SL_LANE_SEND_B;
  bool forward = lane == SL_LANE_SEND_F || lane == SL_LANE_RECV_F;
  struct sl_op op = {.kind = sends ? SL_OP_SEND : SL_OP_RECV,
                     .lane = lane,
                     .group = SL_GROUP_NONE,
                     .dtype = SL_U8,
                     .payload = SL_PAYLOAD_ACTIVATION,
                     .dim = {bytes},
                     .peer = peer};
  enum sl_action_kind action =
      sends ? (forward ? SL_ACTION_SEND_F : SL_ACTION_SEND_B) : (forward ? SL_ACTION_RECV_F : SL_ACTION_RECV_B);
  return add_op(p, op, &bytes, 1, action, stage, micro_batch);
}

/* A simulation in progress. */
struct drive {
  const struct sl_job *job;
  void *state;
  const int *ranks;
  int count;
  int batch; /* completions asked for at a time */
  uint32_t *handed, *done;
  int64_t *step;
  struct sl_completion *log; /* every completion, in order */
  size_t log_count, log_capacity;
};

static inline enum sl_status drive_open(struct drive *d, const struct world *w, bool fold, int batch) {
  struct sl_exec_options options = {.fold = fold, .fail_rank = -1};
  *d = (struct drive){.job = &w->job, .batch = batch};
  SL_TRY(sl_exec_sim.open(&d->state, &w->job, &options, &d->ranks, &d->count));
  SL_TRY(sl_calloc(&d->handed, (size_t)d->count, sizeof *d->handed));
  SL_TRY(sl_calloc(&d->done, (size_t)d->count, sizeof *d->done));
  return sl_calloc(&d->step, (size_t)d->count, sizeof *d->step);
}

static inline void drive_close(struct drive *d) {
  sl_exec_sim.close(d->state);
  free(d->handed);
  free(d->done);
  free(d->step);
  free(d->log);
}

static inline const struct sl_program *drive_program(const struct drive *d, int local, enum sl_program_kind kind) {
  return &d->job->classes[sl_job_class_of(d->job, d->ranks[local])].programs[kind];
}

static inline enum sl_status drive_issue(struct drive *d, int local, const struct sl_program *p, uint32_t index) {
  const struct sl_issue *issue = &p->issues[index];
  struct sl_issued op = {.rank_class = &d->job->classes[sl_job_class_of(d->job, d->ranks[local])],
                         .program = p,
                         .op = &p->ops[issue->op],
                         .instance = &p->instances[issue->instance],
                         .waits = p->waits + issue->wait,
                         .wait_count = issue->wait_count,
                         .lane_index = issue->lane_index,
                         .index = index};
  return sl_exec_sim.issue(d->state, local, &op);
}

/* Issues what is left of each rank's program, and begins the next step where one is complete. */
static inline enum sl_status drive_feed(struct drive *d, enum sl_program_kind kind, int64_t steps) {
  for (int i = 0; i < d->count; i++) {
    const struct sl_program *p = drive_program(d, i, kind);
    if (d->step[i] > steps || d->done[i] < d->handed[i]) continue;
    if (d->handed[i] == p->issue_count || d->step[i] == 0) {
      if (++d->step[i] > steps) continue;
      d->handed[i] = d->done[i] = 0;
      SL_TRY(sl_exec_sim.begin(d->state, i, kind, d->step[i] - 1));
    }
    while (d->handed[i] < p->issue_count) SL_TRY(drive_issue(d, i, p, d->handed[i]++));
  }
  return SL_OK;
}

/* Runs `steps` passes over program `kind` to the end. */
static inline enum sl_status drive_run(struct drive *d, enum sl_program_kind kind, int64_t steps) {
  memset(d->step, 0, (size_t)d->count * sizeof *d->step);
  memset(d->handed, 0, (size_t)d->count * sizeof *d->handed);
  memset(d->done, 0, (size_t)d->count * sizeof *d->done);
  for (;;) {
    SL_TRY(drive_feed(d, kind, steps));
    int got;
    SL_TRY(sl_grow(&d->log, &d->log_capacity, d->log_count + (size_t)d->batch, sizeof *d->log));
    enum sl_status status = sl_exec_sim.advance(d->state, d->log + d->log_count, d->batch, &got);
    if (status == SL_DONE) return SL_OK;
    SL_TRY(status);
    for (int i = 0; i < got; i++) d->done[d->log[d->log_count + (size_t)i].local]++;
    d->log_count += (size_t)got;
  }
}

/* The completion of the `nth` pass (from 0) over issue `index` of local rank `local`. */
static inline struct sl_completion completion_of(const struct drive *d, int local, uint32_t index, int nth) {
  for (size_t i = 0; i < d->log_count; i++) {
    if (d->log[i].local == local && d->log[i].index == index && nth-- == 0) return d->log[i];
  }
  fail_msg("rank %d did not complete #%u", local, (unsigned)index);
  return (struct sl_completion){0};
}

static inline double end_of(const struct drive *d, int local, uint32_t index) {
  return completion_of(d, local, index, 0).end_s;
}

static inline double start_of(const struct drive *d, int local, uint32_t index) {
  return completion_of(d, local, index, 0).start_s;
}

/* Runs one step of `w`; a failure ends the test. */
static inline void drive_one_step(struct drive *d, const struct world *w, bool fold) {
  assert_int_equal(drive_open(d, w, fold, 64), SL_OK);
  enum sl_status status = drive_run(d, SL_PROGRAM_STEP, 1);
  if (status != SL_OK) fail_msg("%s", sl_error_message());
}

/* The end of one step of `w`, folded, with defaults. */
static inline double step_seconds(const struct world *w) {
  struct drive d;
  assert_int_equal(drive_open(&d, w, true, 64), SL_OK);
  assert_int_equal(drive_run(&d, SL_PROGRAM_STEP, 1), SL_OK);
  double seconds = sl_exec_sim.now(d.state);
  drive_close(&d);
  return seconds;
}

static inline void assert_time(double got, double expected) {
  if (fabs(got - expected) > 1e-12 * fabs(expected)) fail_msg("t = %.17g s, expected %.17g s", got, expected);
}
