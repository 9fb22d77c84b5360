/* The distinct works of a sample, and what they take: lowering repeats the same few in every block. */
#pragma once

#include "core/op/work.h"
#include "cost/share.h"
#include "cost/topology.h"

struct sl_fast_work {
  struct sl_work work;
  struct sl_cost_group group; /* of a tensor-parallel collective; size 0: none */
};

/* All zero at first. */
struct sl_fast_works {
  struct sl_fast_work *all;
  double *seconds; /* (count), filled by sl_fast_works_price; communication beside tensor parallelism's takes none */
  double *host;    /* (count), seconds of the host for a launch, or for a call of tensor parallelism's */
  double *bare;    /* (count), the same without any communication */
  double beside;   /* share of its speed that a kernel loses beside these collectives, which are of one group */
  int32_t count;
  size_t capacity;
};

/* *index: where `work` stands, added where it is new. */
enum sl_status sl_fast_works_add(struct sl_fast_works *works, const struct sl_fast_work *work, int32_t *index);
/* Fill in seconds, from the numbers of `cluster` and `rank` as they are now. `stalls`: sl_cost_pipeline_stalls. */
enum sl_status sl_fast_works_price(struct sl_fast_works *works, const struct sl_cluster *cluster,
                                   const struct sl_cost_rank *rank, bool stalls);
void sl_fast_works_free(struct sl_fast_works *works);
