/* Data-parallel traffic of a stage, from the sizes of its tensors: buckets as core/lower/bucket.c fills them, reduced as the
 * last backward of a step makes their gradients. */
#pragma once

#include "fast/stage.h"

/* Seconds. */
struct sl_fast_reduction {
  double held;        /* what reductions add to the last backward itself */
  double held_before; /* of that, before its last bucket closes, which is when the output is there */
  double over;        /* from the start of the last backward to the end of the last reduction */
  double tied_over;   /* from the start of the last backward to the end of a tied embedding's reduction */
  double after;       /* work on reduced gradients between that and the step */
  double host;        /* seconds of the host that reductions add to the backward */
  double host_after;  /* and behind it */
  double gather;      /* of updated parameters */
  /* Bytes of copies of gradients in the type of the wire: before the lowest block, and at the end. */
  double wire_before, wire_all;
  double live; /* the most that lives beside such copies, of buckets that close with blocks */
  int buckets;
};

/* The last backward of a step. */
struct sl_fast_backward {
  bool only;   /* it is the first, too */
  double late; /* by how much the host comes to it later than the device */
  double end,
      end_hosted; /* seconds from its start to its end, by the device and by the host, were there no reductions */
};

/* `numel`: parameters of the rank.
 * `first_device`: its first data-parallel group's. */
void sl_fast_reduce(struct sl_fast_reduction *out, const struct sl_fast_setting *setting,
                    const struct sl_fast_stage *stage, int64_t blocks, const struct sl_fast_backward *backward,
                    int64_t numel, int64_t first_device);
