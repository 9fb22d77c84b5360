/* What the observer of a run has not been told yet of a rank's ops: it is told of many at once. Internal to sim/. */
#pragma once

#include "core/run/executor.h"

enum {
  SL_STRETCH_OPS = 64, /* of compute that run one behind the other, told as one stretch */
  SL_UNREPORTED_STRETCHES = 16,
  SL_UNREPORTED_TIMES = 192
};

/* Zeroed but for the last four. */
struct sl_unreported {
  struct sl_stretch stretches[SL_UNREPORTED_STRETCHES];
  uint32_t first[SL_UNREPORTED_STRETCHES]; /* issue of each */
  double times[SL_UNREPORTED_TIMES];
  uint32_t count, time_count;
  const struct sl_run *run;
  const struct sl_program *program;
  int local;
  int64_t step;
};

/* Tells the observer, and forgets. */
void sl_unreported_report(struct sl_unreported *unreported);

/* Room for the times of a stretch of up to `ops`, for sl_unreported_note. */
static inline double *sl_unreported_times(struct sl_unreported *u, uint32_t ops) {
  if (u->count == SL_UNREPORTED_STRETCHES || u->time_count + ops + 1 > SL_UNREPORTED_TIMES) sl_unreported_report(u);
  return &u->times[u->time_count];
}

/* Notes `count` ops of a lane that follow each other without a gap, from issue `first` on, which are stored from
 * `stored` on. Their times stand where sl_unreported_times says. */
static inline void sl_unreported_note(struct sl_unreported *u, uint32_t first, const struct sl_issue *stored,
                                      uint32_t count) {
  u->stretches[u->count] = (struct sl_stretch){stored, &u->times[u->time_count], count};
  u->first[u->count++] = first;
  u->time_count += count + 1;
}

static inline void sl_unreported_note_one(struct sl_unreported *u, uint32_t issue, const struct sl_issue *stored,
                                          double start, double end) {
  double *times = sl_unreported_times(u, 1);
  times[0] = start, times[1] = end;
  sl_unreported_note(u, issue, stored, 1);
}
