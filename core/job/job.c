/* Builds a job from a plan, class by class, in three steps: the model's drafts (draft.c), programs (programs.c), places
 * (core/place). See job.h. */
#include "core/job/job.h"

#include "core/base/checked.h"
#include "core/base/limits.h"
#include "core/base/parallel.h"
#include "core/job/draft.h"
#include "core/job/programs.h"
#include "core/op/wire.h"
#include "core/place/place.h"
#include "core/program/memory_report.h"

#include <stdlib.h>

/* Bytes of all slots, each counted once: equal buffers of several stages use the same slots, numbered with the first of
 * them. */
static int64_t buffer_bytes(const struct sl_class *c) {
  int64_t sum = 0;
  int32_t numbered = 0;
  for (size_t i = 0; i < c->buffer_count; i++) {
    const struct sl_buffer *b = &c->buffers[i];
    if (b->first_slot < numbered || b->piece) continue;
    numbered = b->first_slot + b->slots;
    sum = sl_sum(sum, sl_product(b->slots, b->bytes + SL_ALIGN));
  }
  return sum;
}

/* Bytes of all calls of a step. Instances of one action have the same ops, which are examined only once. */
static enum sl_status traffic_bytes(const struct sl_program *p, int64_t *sum) {
  int64_t *times; /* by first op: number of instances */
  *sum = 0;
  SL_TRY(sl_calloc(&times, p->op_count, sizeof *times));
  for (size_t i = 0; i < p->instance_count; i++) {
    const struct sl_instance *n = &p->instances[i];
    if (n->op_count > 0) times[n->first_op]++;
  }
  for (size_t i = 0; i < p->instance_count; i++) {
    const struct sl_instance *n = &p->instances[i];
    if (n->op_count == 0 || times[n->first_op] == 0) continue;
    for (const struct sl_op *op = &p->ops[n->first_op]; op < &p->ops[n->first_op + n->op_count]; op++)
      if (sl_op_is_comm(op->kind)) *sum = sl_sum(*sum, sl_product(times[n->first_op], sl_op_comm_bytes(op)));
    times[n->first_op] = 0;
  }
  free(times);
  return SL_OK;
}

/* Checks the memory and the traffic of a rank against their limits, before memory is placed and calls are counted. */
static enum sl_status check_bounds(const struct sl_class *c) {
  int64_t moved;
  SL_TRY(traffic_bytes(&c->programs[SL_PROGRAM_STEP], &moved));
  const struct {
    const char *what;
    int64_t bytes;
  } bounds[] = {{"buffers", buffer_bytes(c)}, {"traffic in a step", moved}};
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
    if (bounds[i].bytes <= SL_MAX_BYTES) continue;
    return sl_fail(SL_ERR_INPUT, "pipeline rank %d: needs %s bytes of %s; expected at most %lld (1 EiB)", c->pp_rank,
                   sl_count_text(bounds[i].bytes).text, bounds[i].what, (long long)SL_MAX_BYTES);
  }
  return SL_OK;
}

static enum sl_status build_class(struct sl_class *c, const struct sl_plan *plan,
                                  const struct sl_build_options *options, int member) {
  enum sl_status status;
  struct sl_lowering drafted;
  enum sl_scope *scopes = NULL;
  SL_GO(sl_job_draft(&drafted, plan, options, c, member));
  SL_GO(sl_job_lower(c, &scopes, &drafted));
  SL_GO(check_bounds(c));
  SL_GO(sl_place_class(plan, scopes, options, c));
done:
  free(scopes);
  sl_job_draft_free(&drafted);
  return status;
}

struct building {
  struct sl_job *job;
  const struct sl_build_options *options;
};

static enum sl_status build_at(void *context, int i) {
  const struct building *b = context;
  const struct sl_plan *plan = b->job->plan;
  const int members = b->job->classes_per_pp_rank;
  struct sl_class *c = &b->job->classes[i];
  const int own = i % members;
  struct sl_coord first = {.pp = i / members, .dp = own / plan->cp, .cp = own % plan->cp}, last = first;
  last.tp = plan->tp - 1;
  if (members == 1) last.dp = plan->dp - 1, last.cp = plan->cp - 1;
  *c = (struct sl_class){.pp_rank = first.pp,
                         .rank_count = plan->world / b->job->class_count,
                         .first_rank = sl_plan_rank(plan, first),
                         .last_rank = sl_plan_rank(plan, last)};
  return build_class(c, plan, b->options, members > 1 ? i % members : -1);
}

static enum sl_status reserve_at(void *context, int i) {
  struct sl_job *job = context;
  return sl_place_reserve(job->plan, &job->classes[i]);
}

/* Begins to find what a framework's allocator reserves; nothing but a report of memory needs it. */
static enum sl_status begin_reserving(struct sl_job *job, const struct sl_build_options *options) {
  if (job->plan->config->sl.kernels == SL_KERNELS_SHARDLAB || options->unplaced) return SL_OK;
  SL_TRY(sl_parallel_begin(&job->reserving, job->class_count, job->threads, reserve_at, job));
  return options->reserve_beside ? SL_OK : sl_parallel_join(job->reserving);
}

static enum sl_status check_programs(const struct sl_job *job) {
  const struct sl_plan *plan = job->plan;
  int64_t tensors = 0;
  for (int r = 0; r < plan->pp; r++) tensors += plan->pp_ranks[r].tensor_count;
  if (job->classes_per_pp_rank == 1 || sl_product(tensors, job->classes_per_pp_rank) <= SL_MAX_OWNED) return SL_OK;
  return sl_fail(
      SL_ERR_INPUT,
      "shardlab.preset: %d data-parallel ranks own whole tensors, and each has a program of its own, of %lld "
      "tensors; expected at most %lld in all",
      job->classes_per_pp_rank, (long long)tensors, (long long)SL_MAX_OWNED);
}

enum sl_status sl_job_build(struct sl_job *job, const struct sl_plan *plan, const struct sl_build_options *options) {
  enum sl_status status;
  *job = (struct sl_job){.plan = plan, .threads = options->threads};
  job->classes_per_pp_rank = plan->strategy.units == SL_UNITS_OWNER ? plan->dp_cp : 1;
  job->class_count = plan->pp * job->classes_per_pp_rank;
  SL_TRY(check_programs(job));
  SL_GO_FAIL(sl_calloc(&job->classes, (size_t)job->class_count, sizeof *job->classes));
  SL_GO_FAIL(sl_parallel(job->class_count, job->threads, build_at, &(struct building){job, options}));
  SL_GO_FAIL(begin_reserving(job, options));
  return SL_OK;
fail:
  sl_job_free(job);
  return status;
}

void sl_job_free(struct sl_job *job) {
  sl_parallel_free(job->reserving);
  for (int i = 0; job->classes != NULL && i < job->class_count; i++) {
    struct sl_class *c = &job->classes[i];
    for (int k = 0; k < SL_PROGRAM_COUNT; k++) {
      free(c->programs[k].ops);
      free(c->programs[k].slices);
      free(c->programs[k].instances);
      free(c->programs[k].issues);
      free(c->programs[k].waits);
      free(c->programs[k].slots);
    }
    for (int space = 0; c->memory != NULL && space < SL_SPACE_COUNT; space++) free(c->memory[space].curve);
    free(c->memory);
    sl_place_forget(c);
    free(c->buffers);
    free(c->slot_offsets);
  }
  free(job->classes);
  *job = (struct sl_job){0};
}
