/* What of a parameter group a rank answers for in the optimizer step, in runs: all of its shard at once, or a unit's part after the other. */
#pragma once

#include "core/lower/build.h"
#include "core/lower/home.h"

/* All of a member's shard, or a unit's part of it; or elements [first, first + count) of that. */
struct sl_owned {
  const struct sl_layout *layout;
  const struct sl_unit *unit; /* NULL: the whole shard */
  int64_t count, first;
};

/* Number of runs of a group, and run `i`. Shards that stand contiguous on both sides are one run. */
int sl_owned_count(const struct sl_layout *layout, bool contiguous);
struct sl_owned sl_owned_at(const struct sl_lowering *lowering, const struct sl_layout *layout, bool contiguous, int i);
/* The part of a unit that every member has one of. */
struct sl_owned sl_owned_unit(const struct sl_lowering *lowering, const struct sl_unit *unit);
/* Where a run begins in a shard. */
int64_t sl_owned_place(struct sl_owned run);
/* As much of a run as stands in one buffer, of each of its states; *rest: what is behind that. */
struct sl_owned sl_owned_together(const struct sl_lowering *lowering, struct sl_owned *rest);
/* The operand of a state that a run covers, whatever the state's form. */
struct sl_operand sl_owned_state(const struct sl_lowering *lowering, enum sl_role role, enum sl_access access,
                                 struct sl_owned run);
