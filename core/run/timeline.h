/* When the lanes of every local rank ran in its last step, and where its seconds went. An observer of the executor loop: ops that
 * follow or overlap each other are one interval, so what is kept grows with the gaps between ops, not with ops. */
#pragma once

#include "core/run/executor.h"

struct sl_interval {
  double start_s, end_s;
};

/* Sorted and apart from each other. */
struct sl_intervals {
  struct sl_interval *at;
  size_t count, capacity;
};

/* Whose intervals are kept: own is compute and what is called inside one stage. */
enum sl_kept {
  SL_KEPT_COMPUTE,
  SL_KEPT_OWN,
  SL_KEPT_ALL,
  SL_KEPT_P2P,
  SL_KEPT_COPIES, /* between the device and host memory */
  SL_KEPT_NVME,   /* to and from NVMe */
  SL_KEPT_GROUP,  /* and those of each class of groups */
  SL_KEPT_COUNT = SL_KEPT_GROUP + SL_GROUP_COUNT
};

struct sl_timeline_rank {
  struct sl_intervals kept[SL_KEPT_COUNT];
  double busy_s[SL_LANE_COUNT]
               [SL_CLASS_COUNT]; /* sum of durations; by lane, so that it does not depend on the order of lanes */
  int64_t step;
};

struct sl_timeline {
  struct sl_timeline_rank *ranks; /* per local rank */
  size_t count, capacity;
  enum sl_status status; /* SL_ERR_MEMORY once an op was lost */
};

/* Seconds of one step of one rank. Busy seconds of classes may overlap each other; exposed ones are those in which the
 * compute lane stood idle while the group's communication ran. */
struct sl_breakdown {
  double step_s;                    /* from the first op's start to the last one's end */
  double busy_s[SL_CLASS_COUNT];    /* sum of durations by op class */
  double compute_s;                 /* in which the compute lane ran */
  double exposed_s[SL_GROUP_COUNT]; /* by group; of SL_GROUP_NONE: sends and receives */
  double exposed_copies_s;          /* of copies between the device and host memory */
  double exposed_nvme_s;            /* of copies to and from NVMe */
  double exposed_all_s;             /* in which any communication or copy was exposed */
  double idle_s;                    /* in which nothing ran */
  double bubble_s;                  /* neither compute nor a collective of one stage ran: others were waited for */
};

/* Add one completion of the step program (others are ignored). */
void sl_timeline_add(struct sl_timeline *timeline, int local, int64_t step, const struct sl_program *program,
                     const struct sl_completion *done);
/* Add a run of compute ops, as sl_observe_run_fn has them. */
void sl_timeline_add_run(struct sl_timeline *timeline, int local, int64_t step, const struct sl_program *program,
                         uint32_t first, const double *times, uint32_t count);
/* Drop what was added. */
void sl_timeline_forget(struct sl_timeline *timeline);
/* Errors: SL_ERR_MEMORY. A rank without ops gives zeros. */
enum sl_status sl_timeline_breakdown(const struct sl_timeline *timeline, int local, struct sl_breakdown *out);
/* Only compute_s and bubble_s, the two that tell one stage of a pipeline from another. */
enum sl_status sl_timeline_bubble(const struct sl_timeline *timeline, int local, double *compute_s, double *bubble_s);
/* The local rank whose step lasted longest (the first at a tie). */
int sl_timeline_slowest(const struct sl_timeline *timeline);
void sl_timeline_free(struct sl_timeline *timeline);
