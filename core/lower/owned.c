/* Runs of parameter groups; see owned.h. */
#include "core/lower/owned.h"

#include "core/lower/lower.h"

int sl_owned_count(const struct sl_layout *layout, bool contiguous) {
  return contiguous || layout->group.members == 1 ? 1 : layout->unit_count;
}

struct sl_owned sl_owned_at(const struct sl_lowering *l, const struct sl_layout *layout, bool contiguous, int i) {
  if (contiguous || layout->group.members == 1) {
    const bool differ = l->member >= 0; /* members that differ have units with owners, in a single group */
    return (struct sl_owned){layout, NULL, differ ? sl_layout_shard(l->pp_rank, l->member) : layout->shard_numel, 0};
  }
  const struct sl_unit *u = &l->pp_rank->units[layout->first_unit + i];
  const bool owned = u->owner < 0 || u->owner == l->member;
  return (struct sl_owned){layout, u, owned ? u->part : 0, 0};
}

struct sl_owned sl_owned_unit(const struct sl_lowering *l, const struct sl_unit *u) {
  return (struct sl_owned){sl_layout_of(l->pp_rank, u), u, u->part, 0};
}

int64_t sl_owned_place(struct sl_owned run) {
  return (run.unit != NULL ? run.unit->shard_offset : run.layout->shard_first) + run.first;
}

struct sl_owned sl_owned_together(const struct sl_lowering *l, struct sl_owned *rest) {
  struct sl_owned out = *rest;
  for (int role = 0; role < SL_ROLE_COUNT; role++)
    if (l->rank_class->role[role].form == SL_FORM_SHARD)
      out.count = sl_home_together(l, (enum sl_role)role, sl_owned_place(out), out.count);
  rest->first += out.count;
  rest->count -= out.count;
  return out;
}

bool sl_owned_next(const struct sl_lowering *l, struct sl_owned run, struct sl_subgroup *s, struct sl_owned *piece) {
  const int64_t first = sl_owned_place(run), end = first + run.count;
  do
    if (!sl_home_next(l, s) || s->first >= end) return false;
  while (s->end <= first);
  const int64_t from = s->first > first ? s->first : first, to = s->end < end ? s->end : end;
  *piece = run;
  piece->first += from - first;
  piece->count = to - from;
  return true;
}

struct sl_operand sl_owned_state(const struct sl_lowering *l, enum sl_role role, enum sl_access access,
                                 struct sl_owned run) {
  const int32_t buffer = l->rank_class->role[role].buffer;
  const struct sl_unit *u = run.unit;
  if (l->rank_class->role[role].form == SL_FORM_SHARD) {
    return sl_home_part(l, role, access, sl_owned_place(run), run.count);
  }
  if (u == NULL) return sl_build_part(l, buffer, access, run.layout->first + run.first, run.count);
  return u->owner >= 0 ? sl_build_part(l, buffer, access, u->first, run.count) : sl_zero_own(l, buffer, access, u);
}
