/* How a job of several processes ended, as its launcher saw it: from what became of its processes, and from what they said on
 * standard error.
 *
 * A job that is watched is one that may be started again (cli/recovery.h). Of such a job the lines that tell of a rank's death, of a
 * host that is gone or of a time limit do not go to standard error: who watches says in one line what comes of it. Its rank 0 tells on
 * standard error, in lines that no reader gets to see, when its first step begins and when a step has been taken. */
#pragma once

#include "core/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum sl_cause {
  SL_CAUSE_NONE,
  SL_CAUSE_ERROR,   /* a rank said an error of its own: bad input, a full disk, a loss that is no number */
  SL_CAUSE_DEATH,   /* a signal ended a process */
  SL_CAUSE_HOST,    /* a host is gone */
  SL_CAUSE_TIMEOUT, /* a rank waited too long for another, or lost its connection to it */
};

struct sl_ended {
  bool watched; /* given */
  bool again;   /* given: this job was started before, so a host that does not answer is one that is gone */
  int code;     /* exit status */
  enum sl_cause cause;
  int rank;       /* that died or is waited for; -1: nobody knows which */
  char host[256]; /* that is gone; "": none, or nobody knows which */
  char why[1024]; /* in words; "" where there is no cause */
  double begun_s; /* seconds of the calendar's clock when the first step began; 0: it did not */
  int64_t taken;  /* steps of the training when the last one was taken; -1: none was */
};

/* Nothing has been heard yet; the two given fields stay. */
void sl_ended_clear(struct sl_ended *ended);
/* What the launcher knows itself: "rank 1 died (signal 9, SIGKILL)". Where the job is not watched, or a rank's own error says more, the
 * former is said at once, on standard error. The first death or lost host counts. */
void sl_ended_tell(struct sl_ended *ended, enum sl_cause cause, int rank, const char *host, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* A line of a watched job's standard error. True: it is not for readers. */
bool sl_ended_hear(struct sl_ended *ended, const char *line);
/* Did it end by what another start may mend? */
bool sl_ended_by_fault(const struct sl_ended *ended);

/* Of rank 0 of a watched job: its first step begins; `taken` steps have been taken. */
void sl_ended_say_begun(void);
void sl_ended_say_taken(int64_t taken);
