/* Data-parallel reductions of a stage, from the sizes of its tensors: buckets fill as in core/lower/bucket.c and are
 * reduced as the last backward of a step completes their gradients. */
#pragma once

#include "fast/stage.h"

/* Times are in seconds. */
struct sl_fast_reduction {
  double held;        /* by how much reductions lengthen the last backward itself */
  double held_before; /* the part of it before the last bucket closes, which is when the output is complete */
  double over;        /* from the start of the last backward to the end of the last reduction */
  double tied_over;   /* from the start of the last backward to the end of a tied embedding's reduction */
  double host;        /* the host's seconds that reductions add to the backward */
  /* Bytes of gradient copies in the communication type: what stays of them in the lowest block, and when the blocks are
   * done. */
  double wire_before, wire_after;
  double live; /* the peak memory, such copies included, at the moments when buckets close with blocks */
  int buckets;
  /* The most that this may be off by, as it takes a lane of tensor parallelism for free: sums on it delay the backward's
   * own collectives, and those hide behind reductions that nothing else overlaps. */
  double hidden;
};

/* The last backward of a step. */
struct sl_fast_backward {
  bool only;              /* it is also the first */
  double late;            /* by how much the host reaches it later than the device */
  double end, end_hosted; /* seconds from its start to its end, by the device and by the host, without reductions */
  double bare;            /* the same if collectives of tensor parallelism took no time */
};

/* `numel`: the rank's parameters. `first_device`: the first device of its first data-parallel group. */
void sl_fast_reduce(struct sl_fast_reduction *out, const struct sl_fast_setting *setting,
                    const struct sl_fast_stage *stage, int64_t blocks, const struct sl_fast_backward *backward,
                    int64_t numel, int64_t first_device);
