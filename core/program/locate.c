/* See locate.h. */
#include "core/program/locate.h"

struct sl_standing sl_job_stand(const struct sl_job *job, int rank) {
  struct sl_standing out = {.rank_class = &job->classes[sl_job_class_of(job, rank)],
                            .at = sl_plan_coord(job->plan, rank)};
  for (int g = 0; g < SL_GROUP_COUNT; g++) out.groups[g] = sl_plan_group(job->plan, (enum sl_group)g, rank);
  return out;
}

/* The state of scaling is whole and equal on all ranks that share the weight, over tp, dp and cp; those of tp rank 0
 * share the work of writing it. */
static struct sl_located locate_scaling(const struct sl_standing *rank, const struct sl_pp_rank *pp_rank,
                                        enum sl_role role, int placed) {
  const struct sl_class *c = rank->rank_class;
  const struct sl_members *alike = &rank->groups[SL_GROUP_DP];
  struct sl_located out = {.buffer = c->role[role].buffer,
                           .writer = rank->at.tp == 0 && alike->index == 0,
                           .replica = rank->at.tp == 0 ? alike->index : -1,
                           .replicas = alike->size};
  const int number = pp_rank->tensors[placed].linear;
  if (c->role[role].form == SL_FORM_ABSENT || number < 0) return out;
  out.count = c->buffers[out.buffer].bytes / sl_dtype_bytes(c->buffers[out.buffer].dtype) / pp_rank->linear_count;
  out.offset = number * out.count * sl_dtype_bytes(c->buffers[out.buffer].dtype);
  return out;
}

struct sl_located sl_job_locate_in(const struct sl_job *job, const struct sl_standing *rank, enum sl_role role,
                                   int placed) {
  const struct sl_plan *plan = job->plan;
  const struct sl_class *c = rank->rank_class;
  const struct sl_pp_rank *pp_rank = &plan->pp_ranks[c->pp_rank];
  if (role >= SL_ROLE_FP8_SCALE) return locate_scaling(rank, pp_rank, role, placed);
  const struct sl_placed *t = &pp_rank->tensors[placed];
  const struct sl_param_group *group = &pp_rank->layouts[t->group].group;
  /* of several holders the first one writes: of the tp group, and of the two pipeline ranks of a tied embedding */
  const bool first = (!t->replicated || rank->at.tp == 0) && (!t->tied || rank->at.pp == plan->embed_ranks[0]);
  /* where the state is whole, every rank that takes part in summing its gradient holds the same elements */
  const bool whole = c->role[role].form == SL_FORM_WHOLE;
  const struct sl_members *alike = &rank->groups[whole ? group->sum : group->replicate];
  struct sl_located out = {.buffer = c->role[role].buffer,
                           .writer = first && alike->index == 0,
                           .replica = first ? alike->index : -1,
                           .replicas = alike->size};
  if (c->role[role].form == SL_FORM_ABSENT) return out;
  const int64_t element = sl_dtype_bytes(c->buffers[out.buffer].dtype);
  if (whole) {
    out.count = t->numel;
    out.offset = t->flat * element;
    return out;
  }
  const struct sl_piece piece = sl_layout_piece(pp_rank, placed, rank->groups[group->shard].index);
  out.first = piece.first;
  out.count = piece.count;
  int64_t place = c->role[role].form == SL_FORM_SHARD ? piece.offset : t->flat + piece.first;
  out.buffer = sl_class_state(c, role, &place);
  out.offset = place * element;
  return out;
}

struct sl_located sl_job_locate(const struct sl_job *job, int rank, enum sl_role role, int placed) {
  const struct sl_standing standing = sl_job_stand(job, rank);
  return sl_job_locate_in(job, &standing, role, placed);
}
