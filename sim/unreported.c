/* See unreported.h. */
#include "sim/unreported.h"

static void tell_one_by_one(const struct sl_unreported *u) {
  for (uint32_t k = 0; k < u->count; k++) {
    const struct sl_stretch *s = &u->stretches[k];
    for (uint32_t i = 0; i < s->count; i++) {
      const struct sl_completion done = {u->local, u->first[k] + i, s->times[i], s->times[i + 1]};
      u->run->observe(u->run->observe_context, u->local, u->step, u->program, &done);
    }
  }
}

void sl_unreported_report(struct sl_unreported *u) {
  const struct sl_run *run = u->run;
  if (run->observe_many != NULL) {
    run->observe_many(run->observe_context, u->local, u->step, u->program, u->stretches, u->count);
  } else if (run->observe != NULL) {
    tell_one_by_one(u);
  }
  u->count = u->time_count = 0;
}
