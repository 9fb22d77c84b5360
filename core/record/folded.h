/* Bytes on the wire of ranks that the simulator folded. Such a rank makes the calls of the rank that stands for it, but
 * may own a larger or smaller piece of the data, depending on its place in the group. Internal to core/record. */
#pragma once

#include "core/job/job.h"

#include <jansson.h>

/* The communication of each class's steps: what each member of a group sends, by rows of traffic, and whether all of
 * them send the same amount. */
struct sl_folded {
  const struct sl_job *job; /* borrowed */
  struct sl_folded_class *classes;
};

enum sl_status sl_folded_open(struct sl_folded *folded, const struct sl_job *job);
void sl_folded_close(struct sl_folded *folded);
/* Do ranks of the class of `rank` send the same amount, whatever their place? */
bool sl_folded_even(const struct sl_folded *folded, int rank);
/* Bytes that `rank` sends in a step in the calls of `row` of a record's traffic; the row must stay until `folded` is
 * closed. */
int64_t sl_folded_wire_bytes(const struct sl_folded *folded, int rank, const json_t *row);
/* Writes these bytes to every row of `entry`, the entry of `rank` in `ranks`, and to its sum, which is that of the last
 * step. The entry must not share its rows with another. */
void sl_folded_put(const struct sl_folded *folded, int rank, enum sl_program_kind last, json_t *entry);
