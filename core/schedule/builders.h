/* The builders of schedules by name: what each can have, and the list of one rank. Internal to core/schedule. */
#pragma once

#include "core/schedule/action.h"

struct sl_schedule_builder {
  const char *name, *summary;
  int min_stages, max_stages, default_stages; /* stages a rank; max_stages 0: any number */
  bool rounds;                                /* micro-batches are dealt in equal rounds of about one a rank */
  bool split_backward;                        /* I and W in place of B */
  bool v_shape;                               /* rank r holds stages r and 2p - 1 - r */
  /* Append the compute actions of `rank`; s has ranks, stages, micro_batches and stage_rank. */
  enum sl_status (*build)(struct sl_schedule *s, int rank);
};

/* The builder called `name`, or NULL; the i-th, or NULL. */
const struct sl_schedule_builder *sl_schedule_builder_find(const char *name);
const struct sl_schedule_builder *sl_schedule_builder_at(int i);
