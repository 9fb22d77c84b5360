/* What the files of the simulator share: the state of an open simulation. Internal to sim/.
 *
 *   tables.c    fills costs, lane orders, calls and groups at open
 *   topology.c  links
 *   contention.c  transfers that share links
 *   fold.c      which ranks do the same, so that one is simulated
 *   jitter.c    compute that is slower or faster than it costs
 *   lanes.c     starts and completes ops, rendezvous, slow-down
 *   flow.c      the same without events, where nothing slows an op down
 *   deadlock.c  explains a standstill
 *   stand_in.c  says what is predicted without a measurement
 *   sim.c       the executor table */
#pragma once

#include "core/run/executor.h"
#include "core/run/traffic.h"
#include "cost/nccl/group.h"
#include "cost/share.h"
#include "sim/queue.h"

/* An op of a class's program. */
struct sl_sim_cost {
  double
      seconds; /* at full speed; of a communication op see sl_sim_call; of a copy between memories by a CPU, the CPU's */
  double link;  /* of such a copy: the link's, which begin when the op could */
  int32_t call; /* index among the program's communication ops, -1: none */
  uint16_t row; /* of the traffic list, when it is one */
  uint16_t lane;
};

/* One program of a class: what its ranks share. */
struct sl_sim_program {
  const struct sl_program *program;
  struct sl_work *works;     /* per op: what the formulas of cost/ take */
  struct sl_sim_cost *costs; /* per op */
  int32_t *call_ops;         /* the op of each call */
  int32_t call_count;
  uint32_t *order[SL_LANE_COUNT]; /* issue index of the k-th op of each lane */
  uint32_t *order_items;          /* their storage */
};

/* A communication op as one rank makes it. */
struct sl_sim_call {
  double seconds;
  double host; /* seconds of the host for the call */
  int64_t bytes, wire;
  double beside;   /* share of its speed that compute loses while bytes move */
  int32_t partner; /* collective: index in sim->groups; send, receive: the other side's local index */
};

/* What a call takes of the caller's own link of each level, each way, while it runs alone: from 0 to 1. */
struct sl_sim_load {
  double of[SL_MAX_LINKS];
};

enum sl_sim_lane_state {
  SL_SIM_IDLE,    /* nothing handed over that is not complete */
  SL_SIM_BLOCKED, /* the head waits for another lane of its rank */
  SL_SIM_MEETING, /* the head waits for other ranks */
  SL_SIM_RUNNING
};

struct sl_sim_lane {
  double start; /* when the head's waits were over */
  const uint32_t *order;
  uint32_t issued, done; /* counts of this pass; the head is op `done` */
  uint32_t need;         /* blocked: lane `blocker` must have completed so many */
  int32_t call;          /* of the head once its waits are over, -1: compute */
  uint8_t state, blocker;
};

struct sl_sim_rank {
  struct sl_sim_lane lanes[SL_LANE_COUNT];
  uint32_t blocked[SL_LANE_COUNT];  /* bit l: the head of lane l is blocked by this lane */
  const struct sl_sim_program *now; /* the program that runs */
  struct sl_sim_call *now_calls;
  double host;                  /* when the host has launched what it has launched so far */
  bool stepping;                /* the program that runs, or the last, is a step ... */
  double began;                 /* ... which began then */
  double took;                  /* seconds of the last step; 0: none yet */
  double launching;             /* seconds of the host in a step */
  uint32_t pending;             /* ops handed over, not complete */
  int transfers;                /* that move bytes ... */
  double beside[SL_LANE_COUNT]; /* ... by lane: what compute loses beside them, 0: none moves */
  double work;                  /* the running compute op: seconds left at full speed ... */
  double work_since;            /* ... as of this time */
  double thread;                /* where one thread does all: when it has done what it has begun */
  bool counting;                /* the program is a step: traffic counts */
  int rank, class_index;
  double straggler; /* its compute takes so many times as long */
  int64_t step;     /* that runs */
  struct sl_sim_call *calls[SL_PROGRAM_COUNT];
  struct sl_sim_load *loads[SL_PROGRAM_COUNT]; /* of each call, where links are shared; else NULL */
  struct sl_traffic_list traffic;
  double *
      call_s; /* seconds of the calls of each row of `traffic`, by lane: so their sum does not depend on the order of lanes */
  uint64_t call_hash;
};

/* Where the simulated members of one group meet on one lane: calls of a group on two lanes are independent. */
struct sl_sim_group {
  int first, count; /* its simulated members: sim->members[first ...] */
  int lane;
  int arrived;
  double launched; /* when the host of the last of them has called it */
  int opener;      /* the first to arrive */
};

struct sl_sim {
  const struct sl_job *job;
  bool fold;
  struct sl_exec_assumptions assume;
  int64_t runs; /* that will be measured */
  double time;  /* now */
  uint64_t pending;
  bool one_thread; /* a CPU computes, copies between memories and updates in host memory: one op at a time */
  double slow;     /* comm_compute_share: the most that compute loses beside a transfer */
  bool stalls;     /* sl_cost_pipeline_stalls */
  struct sl_sim_rank *ranks;
  int *local_ranks;
  int *local_of;                  /* by rank of the world: the one that is simulated for it */
  int *group_key[SL_GROUP_COUNT]; /* folded: see sl_sim_fold; else NULL */
  int count;
  struct sl_sim_program (*programs)[SL_PROGRAM_COUNT]; /* per class */
  struct sl_traffic_list *rows;                        /* per class: the rows of a step, counts zero */
  bool meets[SL_LANE_COUNT][SL_GROUP_COUNT];           /* some program calls this group on this lane */
  struct sl_sim_group *groups;
  int *members;
  int group_count;
  struct sl_queue queue; /* sources: local * SL_LANE_COUNT + lane, then the groups */
  struct sl_cost_rank cost_rank;
  struct sl_contention *contention; /* NULL: transfers do not share links */
  enum sl_status status;            /* first failure inside an event */
  bool dry;                         /* a rank has completed all that it was handed */
  struct sl_completion *out;        /* of the running advance() */
  int out_max, out_count;
  struct sl_completion *spill; /* did not fit into out; at most one event's */
  int spill_first, spill_count;
};

/* The finalizer of MurmurHash3 (public domain): every bit that goes in moves every bit that comes out. */
static inline uint64_t sl_sim_mix(uint64_t x) {
  x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
  x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
  return x ^ x >> 33;
}

static inline uint64_t sl_sim_join(uint64_t hash, uint64_t value) {
  return sl_sim_mix(hash + UINT64_C(0x9e3779b97f4a7c15) + sl_sim_mix(value));
}

static inline uint32_t sl_sim_lane_source(int local, int lane) {
  return (uint32_t)local * SL_LANE_COUNT + (uint32_t)lane;
}

static inline uint32_t sl_sim_group_source(const struct sl_sim *sim, int group) {
  return (uint32_t)(sim->count * SL_LANE_COUNT + group);
}

/* The issue at the head of a lane that is not idle, and its op. */
static inline struct sl_issue_ref sl_sim_head(const struct sl_sim_rank *rank, int lane) {
  return sl_issue_find(rank->now->program, rank->lanes[lane].order[rank->lanes[lane].done]);
}

static inline const struct sl_op *sl_sim_head_op(const struct sl_sim_rank *rank, int lane) {
  return &rank->now->program->ops[sl_sim_head(rank, lane).stored->op];
}

/* The lane on which the other side of a send or receive takes part. */
static inline int sl_sim_peer_lane(int lane) {
  switch (lane) {
  case SL_LANE_SEND_F:
    return SL_LANE_RECV_F;
  case SL_LANE_RECV_F:
    return SL_LANE_SEND_F;
  case SL_LANE_SEND_B:
    return SL_LANE_RECV_B;
  default:
    return SL_LANE_SEND_B;
  }
}

/* stand_in.c: a warning that names the ops of a step which a calibrated profile does not know. */
void sl_sim_say_stand_ins(const struct sl_sim *sim);
/* tables.c: what can be known at open; which issues stand on which lane, for those that the event queue runs. */
enum sl_status sl_sim_order(struct sl_sim_program *table);
enum sl_status sl_sim_tables(struct sl_sim *sim);
void sl_sim_tables_free(struct sl_sim *sim);
/* topology.c: what a ring through a group's members is like to each of them (zero for one member; cost/collective.h has the formula),
 * and the slowest link between two ranks of a pipeline. */
struct sl_link sl_sim_group_link(const struct sl_plan *plan, const struct sl_members *m);
int sl_sim_peer_rank(const struct sl_plan *plan, int rank, int stage);
/* The same ring as NCCL's communicator, of two members or more. */
enum sl_status sl_sim_group_nccl(const struct sl_plan *plan, const struct sl_members *m, struct sl_nccl_group *out);
/* How long a byte of such a ring takes of a member's link of each level. */
void sl_sim_group_shares(const struct sl_plan *plan, const struct sl_members *m, double seconds_per_byte[SL_MAX_LINKS]);
const struct sl_link *sl_sim_peer_link(const struct sl_plan *plan, int rank, int stage);
/* fold.c: the ranks in *kinds kinds, kind[rank] of them numbered in the order of their first ranks, such that all of a kind
 * complete the same ops at the same times; group_key[g][id], of a group of class g that is called, is equal for groups that do:
 * owned by the caller, NULL for a class that is not called. sim->meets must be filled. */
enum sl_status sl_sim_fold(const struct sl_sim *sim, int *kind, int *kinds, int *group_key[SL_GROUP_COUNT]);
/* lanes.c: look at a lane's head and start it if it can; complete the event of `source`. Failures go to sim->status. */
void sl_sim_try(struct sl_sim *sim, int local, int lane);
void sl_sim_event(struct sl_sim *sim, uint32_t source);
/* Count a call of a step that `rank` has reached, in program order: its hash; that is complete, `seconds` later: its traffic. */
void sl_sim_hash_call(struct sl_sim_rank *rank, int32_t call);
void sl_sim_count_call(struct sl_sim_rank *rank, int lane, int32_t call, double seconds);
/* Count a copy between memories of a step, which took `seconds` from the start of the copying, and its link at least as long as it
 * takes to carry it. */
void sl_sim_count_copy(struct sl_sim_rank *rank, uint32_t op, double seconds);
/* deadlock.c: SL_ERR_CHECK with the list of who waits for what. */
enum sl_status sl_sim_deadlock(const struct sl_sim *sim);
enum sl_status sl_sim_mismatch(const struct sl_sim *sim, int local, int other, int lane, int other_lane);
