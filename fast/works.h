/* The distinct works of a sample and their seconds: lowering repeats the same few in every block. */
#pragma once

#include "core/op/work.h"
#include "cost/share.h"
#include "cost/topology.h"

struct sl_fast_work {
  struct sl_work work;
  struct sl_cost_group group; /* of a collective of tensor parallelism; size 0: none */
};

/* Zeroed at first. */
struct sl_fast_works {
  struct sl_fast_work *all;
  double *seconds; /* (count), filled in by sl_fast_works_price; communication other than tensor parallelism's takes no
                    * time */
  double *host;    /* (count), the host's seconds for a launch, or for a call of tensor parallelism */
  double *bare;    /* (count), the same without any communication */
  double beside; /* the share of its speed that a kernel loses while one of these collectives runs, which are all of one
                  * group */
  int32_t count;
  size_t capacity;
};

/* *index: the index of `work`, which is added if it is new. */
enum sl_status sl_fast_works_add(struct sl_fast_works *works, const struct sl_fast_work *work, int32_t *index);
/* Fills in seconds from the current numbers of `cluster` and `rank`. `stalls`: sl_cost_pipeline_stalls. */
enum sl_status sl_fast_works_price(struct sl_fast_works *works, const struct sl_cluster *cluster,
                                   const struct sl_cost_rank *rank, bool stalls);
void sl_fast_works_free(struct sl_fast_works *works);
