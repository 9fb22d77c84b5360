/* The memory report of a class: what is live when, and where the peak is. */
#pragma once

#include "core/place/lives.h"

/* Bytes that a buffer takes in an arena. */
static inline int64_t sl_live_aligned(int64_t bytes) {
  return sl_aligned(bytes);
}
/* Issues are counted over all programs: the first one of a program. */
uint32_t sl_live_first_issue(const struct sl_class *rank_class, enum sl_program_kind kind);
/* Fills the report of one space, except what the arena adds to it; *peak: the issue, counted over all programs, at
 * which most is live. buffer_of: per slot, NULL for slots of another space. Errors: SL_ERR_MEMORY. */
enum sl_status sl_live_report(const struct sl_class *rank_class, enum sl_space space, const struct sl_lives *lives,
                              const struct sl_buffer *const *buffer_of, bool curve, uint32_t *peak);
