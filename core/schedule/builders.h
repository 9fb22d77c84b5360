/* The table of schedule builders: what each supports, and the function that makes one rank's list. Internal to
 * core/schedule. */
#pragma once

#include "core/schedule/action.h"

struct sl_schedule_builder {
  const char *name, *summary;
  int min_stages, max_stages, default_stages; /* stages per rank; max_stages 0: any number */
  bool rounds;                                /* micro-batches are dealt out in equal rounds of about one per rank */
  bool v_shape;                               /* rank r holds stages r and 2p - 1 - r */
  /* Appends the compute actions of `rank`; s has ranks, stages, micro_batches and stage_rank. */
  enum sl_status (*build)(struct sl_schedule *s, int rank);
};

/* The builder of that name, or the i-th; NULL if there is none. */
const struct sl_schedule_builder *sl_schedule_builder_find(const char *name);
const struct sl_schedule_builder *sl_schedule_builder_at(int i);
