/* The memory of a stage, from the memory curve of a small plan's step; see sample.h. */
#pragma once

#include "fast/sample.h"

enum { SL_FAST_SAMPLED = 4 }; /* micro-batches in a sample's step */

/* The nth action of a kind, counted from 0; NULL if there are fewer. */
const struct sl_instance *sl_fast_nth(const struct sl_program *program, enum sl_action_kind kind, int nth);
/* Fills in the memory of one depth. `rank_class` must have a memory curve. Errors: SL_ERR_MEMORY. */
enum sl_status sl_fast_read_memory(struct sl_fast_stage *out, const struct sl_plan *plan,
                                   const struct sl_class *rank_class);
/* Fills in the memory in use after the ops of the last backward that complete gradients. number[t]: which of the
 * stage's tensors the rank's tensor t is; -1: none. */
enum sl_status sl_fast_read_left(struct sl_fast_stage *out, const struct sl_plan *plan,
                                 const struct sl_class *rank_class, const int32_t *number);
