/* Records when the lanes of every local rank ran in its last step, and breaks the step's time down. An observer of the
 * executor loop. Ops that follow or overlap each other are merged into one interval, so memory grows with the number of
 * gaps, not of ops. */
#pragma once

#include "core/run/executor.h"

struct sl_interval {
  double start_s, end_s;
};

/* Sorted and disjoint. */
struct sl_intervals {
  struct sl_interval *at;
  size_t count, capacity;
};

/* Whose intervals are kept: "own" is compute and collectives within one stage. All together are what ran at all. */
enum sl_kept {
  SL_KEPT_COMPUTE,
  SL_KEPT_OWN,
  SL_KEPT_HOST, /* updates in host memory */
  SL_KEPT_P2P,
  SL_KEPT_COPIES, /* between device and host memory */
  SL_KEPT_NVME,   /* to and from NVMe */
  SL_KEPT_GROUP,  /* and one for each class of groups: its collectives, and copies on their lane */
  SL_KEPT_COUNT = SL_KEPT_GROUP + SL_GROUP_COUNT
};

struct sl_timeline_rank {
  struct sl_intervals kept[SL_KEPT_COUNT];
  /* sum of durations; per lane, so that the result does not depend on the order of lanes */
  double busy_s[SL_LANE_COUNT][SL_CLASS_COUNT];
  int64_t step;
  enum sl_status status; /* SL_ERR_MEMORY if an op could not be recorded */
};

struct sl_timeline {
  struct sl_timeline_rank *ranks; /* per local rank */
  size_t count, capacity;
  enum sl_status status; /* SL_ERR_MEMORY if ops of a rank have no room */
};

/* Seconds of one step of one rank. Busy seconds of different classes may overlap; exposed seconds are those in which
 * the compute lane was idle while the communication ran. */
struct sl_breakdown {
  double step_s;                    /* from the start of the first op to the end of the last */
  double busy_s[SL_CLASS_COUNT];    /* sum of durations by op class, without copies between memories ... */
  double copies_s, nvme_s;          /* ... which are those to and from host memory, and to and from NVMe */
  double compute_s;                 /* while the compute lane ran */
  double exposed_s[SL_GROUP_COUNT]; /* by group; SL_GROUP_NONE: sends and receives */
  double exposed_copies_s;          /* of copies between device and host memory */
  double exposed_nvme_s;            /* of copies to and from NVMe */
  double exposed_all_s;             /* while any communication or copy was exposed */
  double host_s;                    /* while the host's update ran, and nothing else */
  double idle_s;                    /* while nothing ran */
  /* while neither compute nor a collective of this stage ran: waiting for other stages */
  double bubble_s;
};

/* Makes room for ranks 0 to `ranks` - 1, which threads may then add to at once, each to ranks of its own; a zeroed
 * timeline makes room as it meets them. Errors: SL_ERR_MEMORY. */
enum sl_status sl_timeline_room(struct sl_timeline *timeline, int ranks);
/* Adds one completion of the step program; others are ignored. */
void sl_timeline_add(struct sl_timeline *timeline, int local, int64_t step, const struct sl_program *program,
                     const struct sl_completion *done);
/* Adds ops as sl_observe_many_fn reports them. */
void sl_timeline_add_many(struct sl_timeline *timeline, int local, int64_t step, const struct sl_program *program,
                          const struct sl_stretch *stretches, uint32_t count);
/* Discards what was added. */
void sl_timeline_forget(struct sl_timeline *timeline);
/* The breakdown of a rank. A rank without ops gives zeros. Errors: SL_ERR_MEMORY. */
enum sl_status sl_timeline_breakdown(const struct sl_timeline *timeline, int local, struct sl_breakdown *out);
/* Only compute_s and bubble_s, the two that differ between pipeline stages. */
enum sl_status sl_timeline_bubble(const struct sl_timeline *timeline, int local, double *compute_s, double *bubble_s);
/* The local rank with the longest step (the first one in a tie). */
int sl_timeline_slowest(const struct sl_timeline *timeline);
void sl_timeline_free(struct sl_timeline *timeline);
