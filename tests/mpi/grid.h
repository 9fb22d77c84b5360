/* One training run inside an MPI test: builds a job, runs it on the host backend, and keeps losses and gradients;
 * assembles whole logical tensors from the pieces that ranks hold, whatever the plan. */
#pragma once

#include <math.h>
#include <mpi.h>
#include <stdlib.h>

#include "core/check/rendezvous.h"
#include "core/job/job.h"
#include "core/program/locate.h"
#include "core/program/memory_report.h"
#include "core/run/executor.h"
#include "tests/support/job_fixture.h"

struct grid_run {
  const char *model, *config, *data, *init; /* config: text */
  int steps;
  bool poison;
  const char *cluster; /* NULL: localhost */
};

/* The results of a run: all losses on rank 0, and the elements that this rank holds of each tensor's gradient. */
struct grid_result {
  struct fixture fixture;
  struct sl_run run;
};

static inline enum sl_status grid_execute(struct grid_result *r, const struct sl_exec_ops *host,
                                          const struct grid_run *g, int world) {
  const struct sl_build_options keep = {.save_grads = true};
  memset(r, 0, sizeof *r);
  const char *cluster = g->cluster != NULL ? g->cluster : "localhost";
  SL_TRY(fixture_open(&r->fixture, g->model, g->config, cluster, world, &keep));
  SL_TRY(sl_check(&r->fixture.job));
  r->run = (struct sl_run){
      .exec = host,
      .job = &r->fixture.job,
      .steps = g->steps,
      .options = {
          .data = g->data, .init = g->init, .poison = g->poison, .threads = 1, .fail_rank = -1, .fail_step = -1}};
  return sl_run_execute(&r->run);
}

static inline void grid_close(struct grid_result *r) {
  sl_run_close(&r->run);
  fixture_close(&r->fixture);
}

/* The value of a 16-bit number, implemented here, so that tests do not rely on the code that they test. */
static inline float grid_widen(enum sl_dtype type, uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (type == SL_BF16) {
    const uint32_t wide = (uint32_t)bits << 16;
    float out;
    memcpy(&out, &wide, sizeof out);
    return out;
  }
  const float sign = bits >> 15 ? -1.0f : 1.0f;
  if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
  return sign * (exponent == 0 ? ldexpf((float)fraction, -24) : ldexpf((float)(fraction + 1024), exponent - 25));
}

/* The index of tensor `tensor` of the model among those of this rank's pipeline stage; -1 if only other stages hold
 * it. */
static inline int grid_placed(const struct grid_result *r, int rank, int tensor) {
  const struct sl_plan *plan = &r->fixture.plan;
  return plan->pp_ranks[sl_plan_coord(plan, rank).pp].placed_of[tensor];
}

/* Copies the elements of the gradient (or parameter) of placed tensor `i` that this rank holds, as counted in its local
 * tensor, to out[first ..], widened to fp32. Returns their number. */
static inline int64_t grid_piece(struct grid_result *r, int rank, enum sl_role role, int i, float *out) {
  const struct sl_located at = sl_job_locate(&r->fixture.job, rank, role, i);
  const struct sl_class *c = &r->fixture.job.classes[sl_job_class_of(&r->fixture.job, rank)];
  if (at.count == 0) return 0;
  const enum sl_dtype type = c->buffers[at.buffer].dtype;
  float *to = out + at.first;
  if (r->run.exec->read(r->run.state, 0, at.buffer, at.offset, at.count * sl_dtype_bytes(type), to) != SL_OK) {
    fprintf(stderr, "read: %s\n", sl_error_message());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (type == SL_F32) return at.count;
  for (int64_t k = at.count; k-- > 0;) { /* in place, from the end: no number is overwritten before it is read */
    uint16_t bits;
    memcpy(&bits, (const char *)to + 2 * k, sizeof bits);
    to[k] = grid_widen(type, bits);
  }
  return at.count;
}

/* A run of this rank's elements of a logical tensor: values[0 .. count) are its elements from `logical` on; logical -1:
 * padding. */
typedef void (*grid_run_fn)(void *context, int64_t logical, int64_t count, const float *values);

/* Hands every run that this rank holds of tensor `tensor` of the model to `each`. Returns whether this rank is the one
 * of its replicas that writes them. */
static inline bool grid_runs(struct grid_result *r, int rank, enum sl_role role, int tensor, grid_run_fn each,
                             void *context) {
  const struct sl_plan *plan = &r->fixture.plan;
  const struct sl_coord at = sl_plan_coord(plan, rank);
  const int placed = grid_placed(r, rank, tensor);
  if (placed < 0) return false;
  const struct sl_located held = sl_job_locate(&r->fixture.job, rank, role, placed);
  float *local = calloc((size_t)plan->pp_ranks[at.pp].tensors[placed].numel, sizeof *local);
  grid_piece(r, rank, role, placed, local);
  for (int64_t i = held.first; i < held.first + held.count;) {
    const struct sl_run_of run =
        sl_plan_logical_run(plan, &plan->model->tensors[tensor], at.tp, i, held.first + held.count);
    each(context, run.logical, run.count, local + i);
    i += run.count;
  }
  free(local);
  return held.writer;
}

/* A logical tensor that is being assembled. */
struct grid_whole {
  float *values;
  int64_t count;
};

static inline void grid_keep_run(void *context, int64_t logical, int64_t count, const float *values) {
  struct grid_whole *w = context;
  if (logical < 0) return;
  memcpy(w->values + logical, values, (size_t)count * sizeof *values);
  w->count += count;
}

/* Assembles tensor `tensor` of the model on every rank: each element once, from the rank that writes it. Aborts on a
 * gap or an overlap. */
static inline void grid_tensor(struct grid_result *r, int rank, enum sl_role role, int tensor, float *out) {
  const int64_t n = r->fixture.model.tensors[tensor].numel;
  struct grid_whole mine = {calloc((size_t)n, sizeof(float)), 0};
  int64_t sum = 0;
  if (!grid_runs(r, rank, role, tensor, grid_keep_run, &mine)) {
    memset(mine.values, 0, (size_t)n * sizeof *mine.values);
    mine.count = 0;
  }
  MPI_Allreduce(&mine.count, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(mine.values, out, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  free(mine.values);
  if (sum != n) {
    fprintf(stderr, "tensor %d: %lld of %lld elements are held\n", tensor, (long long)sum, (long long)n);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

/* The distance |a - b| / |b| over n elements, in the Euclidean norm; NaN if anything is not finite. If the reference is
 * zero, the result is |a|. */
static inline double grid_distance(const float *a, const float *b, int64_t n) {
  double error = 0, norm = 0;
  for (int64_t i = 0; i < n; i++) {
    const double d = (double)a[i] - (double)b[i];
    error += d * d;
    norm += (double)b[i] * (double)b[i];
  }
  return norm > 0 ? sqrt(error / norm) : sqrt(error);
}
