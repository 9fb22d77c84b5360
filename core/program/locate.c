/* See locate.h. */
#include "core/program/locate.h"

struct sl_located sl_job_locate(const struct sl_job *job, int rank, enum sl_role role, int placed) {
  const struct sl_plan *plan = job->plan;
  const struct sl_class *c = &job->classes[sl_job_class_of(job, rank)];
  const struct sl_pp_rank *pp_rank = &plan->pp_ranks[c->pp_rank];
  const struct sl_placed *t = &pp_rank->tensors[placed];
  const struct sl_param_group *group = &pp_rank->layouts[t->group].group;
  const struct sl_coord at = sl_plan_coord(plan, rank);
  /* of several holders the first one writes: of the tp group, and of the two pipeline ranks of a tied embedding */
  const bool first = (!t->replicated || at.tp == 0) && (!t->tied || at.pp == plan->embed_ranks[0]);
  /* where the state is whole, every rank that takes part in summing its gradient holds the same elements */
  const bool whole = c->role[role].form == SL_FORM_WHOLE;
  const struct sl_members alike = sl_plan_group(plan, whole ? group->sum : group->replicate, rank);
  struct sl_located out = {.buffer = c->role[role].buffer,
                           .writer = first && alike.index == 0,
                           .replica = first ? alike.index : -1,
                           .replicas = alike.size};
  if (c->role[role].form == SL_FORM_ABSENT) return out;
  const int64_t element = sl_dtype_bytes(c->buffers[out.buffer].dtype);
  if (whole) {
    out.count = t->numel;
    out.offset = t->flat * element;
    return out;
  }
  const struct sl_piece piece = sl_layout_piece(pp_rank, placed, sl_plan_group(plan, group->shard, rank).index);
  out.first = piece.first;
  out.count = piece.count;
  int64_t place = c->role[role].form == SL_FORM_SHARD ? piece.offset : t->flat + piece.first;
  out.buffer = sl_class_state(c, role, &place);
  out.offset = place * element;
  return out;
}
