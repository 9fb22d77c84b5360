/* Every class of ranks lowered, linked and placed; see job.h. */
#include "core/job/job.h"

#include "core/lower/slots.h"
#include "core/lower/step.h"
#include "core/lower/update.h"
#include "core/lower/zero.h"
#include "core/models/epilogue.h"
#include "core/models/models.h"
#include "core/place/arena.h"
#include "core/place/waits.h"
#include "core/program/memory_report.h"
#include "core/program/step_state.h"

#include <stdlib.h>

/* All ops of a program that is one action. */
static enum sl_status one_instance(const struct sl_lowering *l, struct sl_program *p, enum sl_action_kind kind) {
  return sl_build_instance(p, (struct sl_action){kind, l->rank_class->pp_rank, -1}, 0, (int32_t)p->op_count);
}

/* The init program draws or loads every parameter piece and completes what stage 3 keeps whole. */
static enum sl_status lower_init_program(struct sl_lowering *l) {
  struct sl_program *p = &l->rank_class->programs[SL_PROGRAM_INIT];
  SL_TRY(sl_update_init(l, p));
  SL_TRY(sl_build_join(p, SL_PHASE_INIT));
  return one_instance(l, p, SL_ACTION_INIT);
}

/* Weights are saved from their fp32 master where there is one. */
static enum sl_status lower_save_role(const struct sl_lowering *l, struct sl_program *p, enum sl_role role) {
  const struct sl_class *c = l->rank_class;
  for (int i = 0; i < l->pp_rank->tensor_count; i++) {
    const struct sl_op op = {.kind = SL_OP_SAVE_TENSOR,
                             .lane = SL_LANE_COMPUTE,
                             .group = SL_GROUP_NONE,
                             .place_group = SL_GROUP_NONE,
                             .dtype = c->buffers[c->role[role].buffer].dtype,
                             .phase = SL_PHASE_SAVE,
                             .dim = {l->pp_rank->tensors[i].numel},
                             .tensor = i,
                             .role = role};
    SL_TRY(SL_BUILD_EMIT(p, op, sl_build_read(l, c->role[role].buffer)));
  }
  return SL_OK;
}

static enum sl_status lower_save_program(struct sl_lowering *l) {
  struct sl_program *p = &l->rank_class->programs[SL_PROGRAM_SAVE];
  const bool master = l->rank_class->role[SL_ROLE_MASTER].form != SL_FORM_ABSENT;
  if (l->options->save_params) SL_TRY(lower_save_role(l, p, master ? SL_ROLE_MASTER : SL_ROLE_PARAM));
  if (l->options->save_grads) SL_TRY(lower_save_role(l, p, SL_ROLE_GRAD));
  SL_TRY(sl_build_join(p, SL_PHASE_SAVE));
  return one_instance(l, p, SL_ACTION_SAVE);
}

/* What passes between stages, as wide as the widest boundary of this rank. Without a pipeline nothing passes, but a backward
 * still works on one gradient of the stream. */
static enum sl_status open_streams(struct sl_lowering *l) {
  const struct sl_plan *plan = l->plan;
  int64_t widest = 0;
  for (int i = 0; i < l->pp_rank->stage_count; i++) {
    const struct sl_stage *c = l->stages[i].stage;
    const int64_t in = c->embedding ? 0 : sl_build_stream_count(plan, c->first_layer);
    const int64_t out = c->head ? 0 : sl_build_stream_count(plan, c->first_layer + c->layer_count);
    if (in > widest) widest = in;
    if (out > widest) widest = out;
  }
  l->stream = l->dx = -1;
  if (plan->stage_count > 1) {
    SL_TRY(sl_build_buffer(l, &l->stream, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, l->dtype, widest, "stream"));
    sl_build_slots(l, l->stream, SL_SLOT_IN);
  } else if (sl_model_reads_tokens(plan->model)) {
    widest = sl_build_stream_count(plan, 0);
  }
  if (widest == 0) return SL_OK;
  SL_TRY(sl_build_buffer(l, &l->dx, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, l->dtype, widest, "dx"));
  sl_build_slots(l, l->dx, SL_SLOT_DX);
  return SL_OK;
}

static enum sl_status open_stages(struct sl_lowering *l) {
  SL_TRY(sl_calloc(&l->stages, (size_t)l->pp_rank->stage_count, sizeof *l->stages));
  for (int i = 0; i < l->pp_rank->stage_count; i++) {
    l->stages[i].index = l->pp_rank->stages[i];
    l->stages[i].stage = &l->plan->stages[l->pp_rank->stages[i]];
  }
  const struct sl_schedule *s = &l->plan->schedule;
  const int rank = l->rank_class->pp_rank;
  for (size_t i = 0; i < s->counts[rank]; i++) {
    const struct sl_action *a = &s->actions[rank][i];
    if (a->kind == SL_ACTION_BACKWARD_INPUT) l->stages[l->plan->stages[a->stage].local].split = true;
  }
  return SL_OK;
}

static void close_stages(struct sl_lowering *l) {
  for (int i = 0; l->stages != NULL && i < l->pp_rank->stage_count; i++) {
    free(l->stages[i].forward.items);
    free(l->stages[i].backward.items);
  }
  free(l->stages);
}

static enum sl_status lower_class(struct sl_lowering *l) {
  enum sl_status status;
  struct sl_class *c = l->rank_class;
  struct sl_lives lives = {0};
  for (int k = 0; k < SL_PROGRAM_COUNT; k++) c->programs[k].kind = (enum sl_program_kind)k;
  SL_GO(open_stages(l));
  SL_GO(sl_build_buffer(l, &c->control, SL_SCOPE_PERSISTENT, SL_CATEGORY_WORKSPACE, SL_F64,
                        (int64_t)(sizeof(struct sl_step_state) / sizeof(double)), "control"));
  SL_GO(sl_zero_open(l));
  SL_GO(open_streams(l));
  for (int i = 0; i < l->pp_rank->stage_count; i++) {
    l->stage = &l->stages[i];
    l->stage->first_buffer = (int32_t)c->buffer_count;
    SL_GO(sl_models_build(l));
    sl_models_fuse_epilogues(l);
    SL_GO(sl_zero_open_stage(l));
    l->stage->end_buffer = (int32_t)c->buffer_count;
  }
  SL_GO(sl_slots_open(l));
  SL_GO(lower_init_program(l));
  SL_GO(sl_lower_step(l));
  SL_GO(lower_save_program(l));
  sl_slots_number(l);
  for (int k = 0; k < SL_PROGRAM_COUNT; k++) SL_GO(sl_waits_derive(l->plan, c, l->scopes, &c->programs[k], &lives));
  SL_GO(sl_arena_place(c, &lives));
fail:
  free(lives.items);
  free(l->scopes);
  sl_slots_close(l);
  sl_zero_close(l);
  close_stages(l);
  return status;
}

enum sl_status sl_job_build(struct sl_job *job, const struct sl_plan *plan, const struct sl_build_options *options) {
  enum sl_status status;
  *job = (struct sl_job){.plan = plan};
  job->classes_per_pp_rank = plan->strategy.units == SL_UNITS_OWNER ? plan->dp : 1;
  job->class_count = plan->pp * job->classes_per_pp_rank;
  SL_GO(sl_calloc(&job->classes, (size_t)job->class_count, sizeof *job->classes));
  for (int i = 0; i < job->class_count; i++) {
    const int ranks = plan->world / job->class_count;
    struct sl_class *c = &job->classes[i];
    *c = (struct sl_class){.pp_rank = i / job->classes_per_pp_rank, .rank_count = ranks, .first_rank = i * ranks};
    struct sl_lowering lowering = {.plan = plan,
                                   .pp_rank = &plan->pp_ranks[c->pp_rank],
                                   .rank_class = c,
                                   .options = options,
                                   .dtype = plan->config->param_dtype,
                                   .accumulate = plan->config->grad_accum_dtype,
                                   .wire = plan->config->communication_data_type,
                                   .member = job->classes_per_pp_rank > 1 ? i % job->classes_per_pp_rank : -1};
    SL_GO(lower_class(&lowering));
  }
  return SL_OK;
fail:
  sl_job_free(job);
  return status;
}

void sl_job_free(struct sl_job *job) {
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
    free(c->buffers);
    free(c->slot_offsets);
  }
  free(job->classes);
  *job = (struct sl_job){0};
}
