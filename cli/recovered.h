/* What the launcher of a job that may be restarted (--max-restarts) tells its ranks in their environment: where this
 * start continues, and, for the record, what happened to earlier ones. */
#pragma once

#include "core/base/status.h"
#include "core/checkpoint/owner.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct sl_recovered {
  int64_t restarts, most;  /* restarts so far; --max-restarts */
  int64_t lost;            /* steps that were taken and have to be repeated */
  int64_t first;           /* steps that had been taken when the job was first started */
  double down_s;           /* of the earlier restarts, from the end of one start to the first step of the next */
  double since_s;          /* time of day in seconds when the previous start ended; 0: this is the first */
  char job[SL_OWNER_SIZE]; /* its name, the same for all starts */
  const char *from;        /* the checkpoint that this start resumes from; NULL: it starts anew. Borrowed */
};

/* Sets the environment for all processes that are started from here. */
void sl_recovered_pass(const struct sl_recovered *recovered);
/* *found: whether the process that started this one watches the job. `out` is valid as long as the environment. Errors:
 * SL_ERR_INPUT. */
enum sl_status sl_recovered_read(struct sl_recovered *out, bool *found);
/* Processes that are started from here are not watched. */
void sl_recovered_forget(void);
/* The record's "recovery"; `begun_s`: when the first step of this start began. New reference. */
json_t *sl_recovered_json(const struct sl_recovered *recovered, double begun_s);
