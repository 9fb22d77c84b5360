/* The part of a parameter group that a rank updates in the optimizer step, as runs: its whole shard at once, or one
 * unit's part after the other. */
#pragma once

#include "core/lower/build.h"
#include "core/lower/home.h"

/* A member's whole shard, or its part of a unit; or elements [first, first + count) of that. */
struct sl_owned {
  const struct sl_layout *layout;
  const struct sl_unit *unit; /* NULL: the whole shard */
  int64_t count, first;
};

/* Number of runs of a group, and run `i`. A shard that is contiguous on both sides is one run. */
int sl_owned_count(const struct sl_layout *layout, bool contiguous);
struct sl_owned sl_owned_at(const struct sl_lowering *lowering, const struct sl_layout *layout, bool contiguous, int i);
/* The part that every member has of a unit. */
struct sl_owned sl_owned_unit(const struct sl_lowering *lowering, const struct sl_unit *unit);
/* Index of a run's first element in the shard. */
int64_t sl_owned_place(struct sl_owned run);
/* As much of a run as is in one buffer, for each of its states; *rest: what follows. */
struct sl_owned sl_owned_together(const struct sl_lowering *lowering, struct sl_owned *rest);
/* Goes on to what the next sub-group has of a run; false: none has. */
bool sl_owned_next(const struct sl_lowering *lowering, struct sl_owned run, struct sl_subgroup *subgroup,
                   struct sl_owned *piece);
/* The operand of a state that a run covers, whatever the state's form. */
struct sl_operand sl_owned_state(const struct sl_lowering *lowering, enum sl_role role, enum sl_access access,
                                 struct sl_owned run);
