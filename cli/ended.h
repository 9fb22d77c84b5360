/* How a job of several processes ended, as its launcher sees it: from the exit statuses of its processes and from their
 * lines on standard error.
 *
 * A watched job is one that may be restarted (cli/recovery.h). Its lines about a rank's death, a lost host or a timeout
 * do not go to standard error; the watching process reports the consequence in one line instead. Its rank 0 writes
 * lines to standard error that no user sees, when its first step begins and after every step. */
#pragma once

#include "core/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum sl_cause {
  SL_CAUSE_NONE,
  SL_CAUSE_ERROR,   /* a rank reported an error of its own: bad input, a full disk, a loss that is not finite */
  SL_CAUSE_DEATH,   /* a signal ended a process */
  SL_CAUSE_HOST,    /* a host was lost */
  SL_CAUSE_TIMEOUT, /* a rank waited too long for another, or lost its connection to it */
};

struct sl_ended {
  bool watched; /* given */
  bool again;   /* given: this job was started before, so a host that does not answer is one that is gone */
  int code;     /* exit status of the job */
  enum sl_cause cause;
  int rank;       /* the rank that died or is waited for; -1 if unknown */
  char host[256]; /* the lost host; "" if there is none or it is unknown */
  char why[1024]; /* the reason as text; "" if there is no cause */
  double begun_s; /* time of day in seconds when the first step began; 0 if it did not */
  int64_t taken;  /* steps of the training after the last one taken; -1 if none was taken */
};

/* Resets everything but the two given fields. */
void sl_ended_clear(struct sl_ended *ended);
/* Notes something that the launcher itself knows, such as "rank 1 died (signal 9, SIGKILL)". It is printed to standard
 * error at once, unless the job is watched or a rank has reported an error that says more. The first death or lost host
 * counts. */
void sl_ended_tell(struct sl_ended *ended, enum sl_cause cause, int rank, const char *host, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Reads a line of a watched job's standard error. Returns true if users should not see it. */
bool sl_ended_hear(struct sl_ended *ended, const char *line);
/* Whether the job ended for a reason that a restart may cure. */
bool sl_ended_by_fault(const struct sl_ended *ended);

/* For rank 0 of a watched job: its first step begins; `taken` steps have been taken. */
void sl_ended_say_begun(void);
void sl_ended_say_taken(int64_t taken);
