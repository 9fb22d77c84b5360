/* What a rank that the simulator folded puts on the wire itself: it makes the calls of the rank that stood for it, but may own a larger
 * or a smaller piece of what they move, by its place in the group. Internal to core/record. */
#pragma once

#include "core/job/job.h"

#include <jansson.h>

/* The communication of each class's step, by op: how often it is called, and whether all members of its group send alike. */
struct sl_folded {
  const struct sl_job *job; /* borrowed */
  struct sl_folded_class *classes;
};

enum sl_status sl_folded_open(struct sl_folded *folded, const struct sl_job *job);
void sl_folded_close(struct sl_folded *folded);
/* Do ranks of the class of `rank` send alike, whatever their place? */
bool sl_folded_even(const struct sl_folded *folded, int rank);
/* Bytes that `rank` puts on the wire in a step by the calls of `row` of a record's traffic. */
int64_t sl_folded_wire_bytes(const struct sl_folded *folded, int rank, const json_t *row);
/* Put these bytes into every row of `ranks`'s entry for `rank`, whose rows it does not share with another, and into its
 * sum, which is of the last step. */
void sl_folded_put(const struct sl_folded *folded, int rank, enum sl_program_kind last, json_t *entry);
