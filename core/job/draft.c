/* The first step of building a job; see draft.h. */
#include "core/job/draft.h"

#include "core/lower/scaling.h"
#include "core/lower/zero.h"
#include "core/models/autocast.h"
#include "core/models/casts.h"
#include "core/models/epilogue.h"
#include "core/models/hooks.h"
#include "core/models/models.h"
#include "core/models/norm_fusion.h"
#include "core/models/own_casts.h"
#include "core/models/passes.h"
#include "core/program/step_state.h"

#include <stdlib.h>

/* Buffers for what is passed between stages, as large as the largest boundary of this rank needs. Without a pipeline
 * nothing is passed, but a backward still works on one gradient of the stream. */
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
  if (l->pp_rank->stage_count == 0) return SL_OK; /* an idle rank */
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

/* Drafts one stage: what the model computes there, and what the strategy adds. */
static enum sl_status draft_stage(struct sl_lowering *l, struct sl_lowered_stage *stage) {
  l->stage = stage;
  stage->first_buffer = (int32_t)l->rank_class->buffer_count;
  SL_TRY(sl_models_build(l));
  sl_models_fuse_epilogues(l);
  sl_models_fuse_norms(l);
  SL_TRY(sl_autocast_weights(l));
  SL_TRY(sl_models_add_casts(l));
  SL_TRY(sl_models_cast(l));
  SL_TRY(sl_models_add_passes(l));
  SL_TRY(sl_models_add_hooks(l));
  SL_TRY(sl_zero_open_stage(l));
  stage->end_buffer = (int32_t)l->rank_class->buffer_count;
  return SL_OK;
}

enum sl_status sl_job_draft(struct sl_lowering *l, const struct sl_plan *plan, const struct sl_build_options *options,
                            const struct sl_class *ranks, int member) {
  *l = (struct sl_lowering){.plan = plan,
                            .pp_rank = &plan->pp_ranks[ranks->pp_rank],
                            .options = options,
                            .dtype = plan->config->param_dtype,
                            .compute = sl_config_compute_dtype(plan->config),
                            .accumulate = plan->config->grad_accum_dtype,
                            .wire = plan->config->communication_data_type,
                            .member = member};
  SL_TRY(sl_calloc(&l->rank_class, 1, sizeof *l->rank_class));
  *l->rank_class = *ranks;
  SL_TRY(open_stages(l));
  SL_TRY(sl_build_buffer(l, &l->rank_class->control, SL_SCOPE_PERSISTENT, SL_CATEGORY_WORKSPACE, SL_F64,
                         (int64_t)(sizeof(struct sl_step_state) / sizeof(double)), "control"));
  SL_TRY(sl_scaling_open(l));
  SL_TRY(sl_zero_open(l));
  SL_TRY(open_streams(l));
  for (int i = 0; i < l->pp_rank->stage_count; i++) SL_TRY(draft_stage(l, &l->stages[i]));
  return SL_OK;
}

void sl_job_draft_free(struct sl_lowering *l) {
  for (int i = 0; l->stages != NULL && i < l->pp_rank->stage_count; i++) {
    free(l->stages[i].forward.items);
    free(l->stages[i].backward.items);
  }
  free(l->stages);
  free(l->scopes);
  if (l->rank_class != NULL) free(l->rank_class->buffers);
  free(l->rank_class);
  sl_zero_close(l);
  *l = (struct sl_lowering){0};
}
