/* What the ranks of a job that may be started again (--max-restarts) are told by who starts them, in their environment: where this start
 * goes on, and what befell the ones before, for the record. */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct sl_recovered {
  int64_t restarts, most; /* so far; --max-restarts */
  int64_t lost;           /* steps that had been taken and are taken again */
  int64_t first;          /* steps that had been taken when the job was started first */
  double down_s;          /* of the restarts before this one, from the end of a start to the next one's first step */
  double since_s;   /* seconds of the calendar's clock when the start before this one ended; 0: this is the first */
  const char *from; /* the checkpoint that this start goes on from; NULL: it begins anew. Borrowed */
};

/* For all processes that are started from here. */
void sl_recovered_pass(const struct sl_recovered *recovered);
/* *found says whether who started this process watches over it; `out` lives as long as the environment. Errors: SL_ERR_INPUT. */
enum sl_status sl_recovered_read(struct sl_recovered *out, bool *found);
/* No process that is started from here is watched. */
void sl_recovered_forget(void);
/* Seconds of the calendar's clock. */
double sl_recovered_now(void);
/* The record's "recovery"; `begun_s`: when the first step of this start began. New reference. */
json_t *sl_recovered_json(const struct sl_recovered *recovered, double begun_s);
