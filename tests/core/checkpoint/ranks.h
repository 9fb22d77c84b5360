/* Ranks without a backend, for tests of checkpoints: their buffers are plain memory, and every element of a state is a
 * number that identifies it. One process is each rank in turn. */
#pragma once

#include "core/checkpoint/pieces.h"
#include "core/checkpoint/restore.h"
#include "core/checkpoint/save.h"
#include "core/io/weights.h"
#include "core/program/locate.h"
#include "tests/support/job_fixture.h"

#include <stdlib.h>

/* A scratch folder: group setup and teardown. */
static char ranks_folder[] = "/tmp/shardlab-checkpoint-XXXXXX";
static inline int ranks_make_folder(void **state) {
  (void)state;
  return mkdtemp(ranks_folder) == NULL ? -1 : 0;
}
static inline int ranks_remove_folder(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", ranks_folder);
  return system(command);
}

struct ranks {
  struct fixture f;
  char ***memory; /* per rank, per buffer of its class that holds a state or the control block; otherwise NULL */
  int *numbers;   /* of the ranks: 0, 1 ... */
  struct sl_run *runs;
  struct sl_exec_ops exec;
};

struct ranks_one {
  struct ranks *all;
  int rank;
};

static inline enum sl_status ranks_read(void *state, int local, int32_t buffer, int64_t offset, int64_t bytes,
                                        void *dst) {
  const struct ranks_one *one = state;
  (void)local;
  memcpy(dst, one->all->memory[one->rank][buffer] + offset, (size_t)bytes);
  return SL_OK;
}

static inline enum sl_status ranks_write(void *state, int local, int32_t buffer, int64_t offset, int64_t bytes,
                                         const void *src) {
  const struct ranks_one *one = state;
  (void)local;
  memcpy(one->all->memory[one->rank][buffer] + offset, src, (size_t)bytes);
  return SL_OK;
}

static inline const struct sl_class *ranks_class(const struct ranks *r, int rank) {
  return &r->f.job.classes[sl_job_class_of(&r->f.job, rank)];
}

/* The value of element `logical` of a state; all elements of a tensor differ. */
static inline float ranks_value(enum sl_role role, int tensor, int64_t logical) {
  const int state = role == SL_ROLE_MASTER || role == SL_ROLE_PARAM ? 0 : (int)role - SL_ROLE_GRAD;
  return (float)(logical + 1) + 0.0625F * (float)state + (tensor % 2 ? -0.125F : 0);
}

/* Calls `each` with the elements of a state that a rank holds, with logical -1 for padding: with all, or those whose
 * logical number is a multiple of ranks_stride. */
static int64_t ranks_stride = 1;
typedef void (*ranks_each)(float *at, enum sl_role role, int tensor, int64_t logical);
static inline void ranks_walk(struct ranks *r, int rank, enum sl_role role, ranks_each each) {
  const struct sl_plan *plan = &r->f.plan;
  const struct sl_coord at = sl_plan_coord(plan, rank);
  if (ranks_class(r, rank)->role[role].form == SL_FORM_ABSENT) return;
  for (int i = 0; i < plan->pp_ranks[at.pp].tensor_count; i++) {
    const struct sl_located where = sl_job_locate(&r->f.job, rank, role, i);
    const int tensor = plan->pp_ranks[at.pp].tensors[i].tensor;
    const struct sl_cut cut = sl_checkpoint_state_of(plan, tensor, role).cut;
    float *x = (float *)(void *)(r->memory[rank][where.buffer] + where.offset);
    for (int64_t local = where.first; local < where.first + where.count;) {
      const struct sl_run_of run = sl_cut_run(&cut, cut.members > 1 ? at.tp : 0, local, where.first + where.count);
      const int64_t first = run.logical < 0 ? 0 : (ranks_stride - run.logical % ranks_stride) % ranks_stride;
      for (int64_t k = first; k < run.count; k += ranks_stride)
        each(x + k, role, tensor, run.logical < 0 ? -1 : run.logical + k);
      x += run.count;
      local += run.count;
    }
  }
}

static inline void ranks_allocate(struct ranks *r, int rank) {
  const struct sl_class *c = ranks_class(r, rank);
  r->memory[rank] = calloc(c->buffer_count, sizeof **r->memory);
  for (size_t b = 0; b < c->buffer_count; b++) {
    bool state = (int32_t)b == c->control;
    for (int role = 0; role < SL_ROLE_COUNT; role++)
      state |= c->role[role].form != SL_FORM_ABSENT && c->role[role].buffer == (int32_t)b;
    if (state) r->memory[rank][b] = calloc(1, (size_t)c->buffers[b].bytes + 1);
  }
}

static inline void ranks_open(struct ranks *r, const char *model, const char *config, int world) {
  memset(r, 0, sizeof *r);
  if (fixture_open(&r->f, model, config, "dgx-a100-80g", world, NULL) != SL_OK) {
    fprintf(stderr, "%s\n", sl_error_message());
    abort();
  }
  r->exec = (struct sl_exec_ops){.name = "memory", .read = ranks_read, .write = ranks_write};
  r->memory = calloc((size_t)world, sizeof *r->memory);
  r->numbers = calloc((size_t)world, sizeof *r->numbers);
  r->runs = calloc((size_t)world, sizeof *r->runs);
  for (int rank = 0; rank < world; rank++) {
    struct ranks_one *one = calloc(1, sizeof *one);
    *one = (struct ranks_one){r, rank};
    r->numbers[rank] = rank;
    r->runs[rank] = (struct sl_run){
        .exec = &r->exec, .job = &r->f.job, .local_ranks = &r->numbers[rank], .local_count = 1, .state = one};
    ranks_allocate(r, rank);
  }
}

static inline void ranks_close(struct ranks *r) {
  for (int rank = 0; rank < r->f.plan.world; rank++) {
    for (size_t b = 0; b < ranks_class(r, rank)->buffer_count; b++) free(r->memory[rank][b]);
    free(r->memory[rank]);
    free(r->runs[rank].state);
  }
  free(r->memory);
  free(r->numbers);
  free(r->runs);
  fixture_close(&r->f);
}

static inline void ranks_put(float *at, enum sl_role role, int tensor, int64_t logical) {
  *at = logical < 0 ? 0 : ranks_value(role, tensor, logical);
}

/* Fills the memory of all ranks with the state of step `step`. */
static inline void ranks_fill(struct ranks *r, int64_t step) {
  for (int rank = 0; rank < r->f.plan.world; rank++) {
    const struct sl_class *c = ranks_class(r, rank);
    struct sl_step_state *state = (struct sl_step_state *)(void *)r->memory[rank][c->control];
    *state = (struct sl_step_state){.step = step,
                                    .good_steps = step - 1,
                                    .skipped = 1,
                                    .last_overflow = 0,
                                    .hysteresis = 2,
                                    .loss_scale = 1,
                                    .lr = 0.1,
                                    .momentum = 0.9};
    ranks_walk(r, rank, sl_checkpoint_weight(c), ranks_put);
    for (int s = 1; s < SL_CHECKPOINT_STATES; s++) ranks_walk(r, rank, sl_checkpoint_roles[s], ranks_put);
  }
}

/* Saves as at the end of a step, rank after rank; returns the first failure after all have saved. */
static inline enum sl_status ranks_save(struct ranks *r, const struct sl_saver_options *options, int64_t step) {
  const int world = r->f.plan.world;
  static struct sl_saver *savers[8];
  enum sl_status status = SL_OK;
  for (int i = 0; i < world && status == SL_OK; i++) status = sl_saver_open(&savers[i], options, &r->f.job);
  for (int i = 0; i < world && status == SL_OK; i++) status = sl_saver_stepped(savers[i], &r->runs[i], step, false);
  /* at the end nothing more is saved, but writes in flight are waited for: rank 0's completes those of the others */
  for (int i = world; i-- > 0;) {
    if (status == SL_OK) status = sl_saver_wait(savers[i], &r->runs[i]);
  }
  for (int i = 0; i < world; i++) sl_saver_close(savers[i]), savers[i] = NULL;
  return status;
}
