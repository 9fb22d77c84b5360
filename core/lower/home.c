/* States in two memories; see home.h. */
#include "core/lower/home.h"

#include "core/lower/lower.h"

bool sl_home_next(const struct sl_lowering *l, struct sl_subgroup *s) {
  const struct sl_pp_rank *pp_rank = l->pp_rank;
  const int64_t most = l->plan->config->zero.sub_group_size;
  if (s->next_unit == pp_rank->unit_count) return false;
  s->group = pp_rank->units[s->next_unit].group;
  s->first = s->end;
  for (; s->next_unit < pp_rank->unit_count; s->next_unit++) {
    const struct sl_unit *u = &pp_rank->units[s->next_unit];
    if (u->group != s->group || (s->end > s->first && s->end - s->first >= most)) break;
    s->end = u->shard_offset + u->part;
  }
  return true;
}

/* stage3.py, subgroup_to_device: the device has the first sub-groups. */
int64_t sl_home_by_ratio(const struct sl_lowering *l, double ratio) {
  struct sl_subgroup all = {0}, some = {0};
  int n = 0;
  while (sl_home_next(l, &all)) n++;
  for (int i = (int)(ratio * n); i > 0; i--) sl_home_next(l, &some);
  return some.end;
}

/* stage3.py, _create_fp16_partitions_with_defragmentation. */
int64_t sl_home_within(const struct sl_lowering *l, int64_t most) {
  struct sl_subgroup s = {0};
  int64_t end = 0;
  while (sl_home_next(l, &s) && s.end <= most) end = s.end;
  return end;
}

enum sl_status sl_home_split(struct sl_lowering *l, enum sl_role role, int64_t count, enum sl_space space,
                             enum sl_space rest) {
  struct sl_class *c = l->rank_class;
  const int32_t all = c->role[role].buffer;
  const struct sl_buffer whole = c->buffers[all];
  const int64_t element = sl_dtype_bytes(whole.dtype), others = whole.bytes / element - count;
  if (count <= 0 || others <= 0 || space == rest) {
    sl_build_move(l, all, count > 0 ? space : rest);
    return SL_OK;
  }
  SL_TRY(sl_build_buffer(l, &c->role[role].rest, l->scopes[all], whole.category, whole.dtype, others, "%s.rest",
                         whole.name));
  c->buffers[all].bytes = count * element;
  c->role[role].split = count;
  sl_build_move(l, all, space);
  sl_build_move(l, c->role[role].rest, rest);
  return SL_OK;
}

int64_t sl_home_together(const struct sl_lowering *l, enum sl_role role, int64_t first, int64_t count) {
  const int64_t split = l->rank_class->role[role].split;
  return first < split && first + count > split ? split - first : count;
}

struct sl_operand sl_home_part(const struct sl_lowering *l, enum sl_role role, enum sl_access access, int64_t first,
                               int64_t count) {
  const int32_t buffer = sl_class_state(l->rank_class, role, &first);
  return sl_build_part(l, buffer, access, first, count);
}

enum sl_space sl_home_space(const struct sl_lowering *l, enum sl_role role, int64_t element) {
  return l->rank_class->buffers[sl_class_state(l->rank_class, role, &element)].space;
}

int32_t sl_home_of(const struct sl_lowering *l, enum sl_role role, int placed) {
  int64_t element = l->pp_rank->units[l->pp_rank->tensors[placed].unit].shard_offset;
  return sl_class_state(l->rank_class, role, &element);
}

int64_t sl_home_on_device(const struct sl_lowering *l) {
  const double ratio = l->plan->config->zero.offload_ratio;
  return ratio < 1 ? sl_home_by_ratio(l, 1 - ratio) : 0;
}
