/* The state of an open simulation, shared by the simulator's files. Internal to sim/.
 *
 *   tables.c      fills costs, lane orders, calls and groups at open
 *   topology.c    links
 *   contention.c  transfers that share links
 *   fold.c        finds ranks that do the same, so that only one of them is simulated
 *   jitter.c      makes compute slower or faster than its costs
 *   lanes.c       starts and completes ops, rendezvous, slow-down
 *   ahead.c       ops that run one behind the other
 *   counts.c      traffic of a step
 *   order.c       which ops are on which lane
 *   play.c        runs a whole program event by event
 *   flow.c        the same without events, if nothing slows an op down and no host launches it
 *   crews.c       on several threads
 *   unreported.c      what it has not told the observer yet
 *   fitted.c      what compute takes of a profile's fitted numbers
 *   deadlock.c    explains a deadlock
 *   stand_in.c    names what is predicted without a measurement
 *   sim.c         the executor table */
#pragma once

#include "core/run/executor.h"
#include "core/run/traffic.h"
#include "cost/fitted.h"
#include "cost/nccl/group.h"
#include "cost/share.h"
#include "sim/queue.h"
#include "sim/unreported.h"

/* The stored issues of a lane, in order. */
struct sl_sim_order {
  uint32_t *items; /* numbers of stored issues */
  uint32_t count;  /* of issues, those that are not stored included */
  /* what repeats of them ends before items[turn], and is so long; 0: nothing does */
  uint32_t turn, length;
};

/* An op of a class's program. */
struct sl_sim_cost {
  /* at full speed; for a communication op see sl_sim_call; for a copy between memories by a CPU, the CPU's share */
  double seconds;
  double link;  /* of such a copy, the link's share, which begins when the op could */
  double host;  /* of a compute op: the host's seconds to launch it */
  int32_t call; /* index among the program's communication ops, -1: none */
  uint16_t row; /* its row of the traffic list, if it has one */
  uint16_t lane;
};

/* One program of a class: what its ranks share. */
struct sl_sim_program {
  const struct sl_program *program;
  struct sl_work *works;     /* per op: the input of cost/'s formulas */
  struct sl_sim_cost *costs; /* per op */
  int32_t *call_ops;         /* the op of each call */
  int32_t call_count;
  bool host_side;               /* an op is one of a lane on which a CPU does the work itself */
  struct sl_cost_fitted fitted; /* of a step: what its compute takes of each fitted number */
  struct sl_sim_order order[SL_LANE_COUNT];
  struct sl_sim_order calls; /* the same of communication ops, of all lanes */
  uint32_t *order_items;     /* their storage */
};

/* A communication op as one rank makes it. */
struct sl_sim_call {
  double seconds;
  double host; /* the host's seconds for the call */
  int64_t bytes, wire;
  double beside;       /* share of its speed that compute loses while bytes move */
  int32_t partner;     /* collective: index in sim->groups; send, receive: the other side's local index */
  uint16_t row;        /* of the traffic list */
  uint8_t group, kind; /* enum sl_group, enum sl_op_kind */
};

/* What a call takes of the caller's own link of each level, in each direction, if it is the only one: from 0 to 1. */
struct sl_sim_load {
  double of[SL_MAX_LINKS];
};

enum { SL_SIM_AHEAD = 48 };

enum sl_sim_lane_state {
  SL_SIM_IDLE,    /* nothing has been handed over that is not complete */
  SL_SIM_BLOCKED, /* the head waits for another lane of its rank */
  SL_SIM_MEETING, /* the head waits for other ranks */
  SL_SIM_RUNNING
};

struct sl_sim_lane {
  double start; /* when the head's waits ended */
  const struct sl_sim_order *order;
  uint32_t at, turn;     /* the head: order->items[at], and sl_issue_ref.turn */
  uint32_t issued, done; /* counts of this run; the head is op `done` */
  uint32_t need;         /* blocked: how many ops lane `blocker` must have completed */
  int32_t call;          /* the head's call once its waits have ended; -1: compute */
  uint8_t state, blocker;
};

/* An op that runs, or that will run if nothing comes between. */
struct sl_sim_ahead {
  const struct sl_issue *stored;
  uint32_t at, turn; /* its place, as in sl_sim_lane */
  int32_t call;      /* -1: compute */
  bool behind;       /* compute that begins when the call before it ends */
  double start, end;
  double launch; /* seconds of the host for it ... */
  double host;   /* ... which has then come this far */
};

/* Ops of the compute lane that run one behind the other, and calls that they meet, in the order of their starts, with
 * one event for all, at the end of the last, which is compute. See ahead.c. */
struct sl_sim_stretch {
  struct sl_sim_ahead *ops; /* room for SL_SIM_AHEAD where a whole program is run; else `one` */
  struct sl_sim_ahead one;
  uint32_t count;
  bool timed; /* its event stands in the queue */
};

struct sl_sim_rank {
  struct sl_sim_lane lanes[SL_LANE_COUNT];
  uint32_t blocked[SL_LANE_COUNT];  /* bit l: the head of lane l is blocked by this lane */
  const struct sl_sim_program *now; /* the program that runs */
  struct sl_sim_call *now_calls;
  double host;                      /* when the host has launched all that it has launched so far */
  bool stepping;                    /* the program that runs, or the last, is a step ... */
  double began;                     /* ... which began at this time */
  double took;                      /* seconds of the last step; 0: none yet */
  double launching;                 /* seconds of the host in a step */
  uint32_t pending;                 /* ops handed over and not complete */
  double beside[SL_LANE_COUNT];     /* by lane, the share of its speed that compute loses while bytes move; 0: none */
  uint32_t moving;                  /* bit l: bytes move on lane l beside compute, which loses speed */
  double lost;                      /* the share that compute loses now: the largest of these */
  struct sl_sim_stretch stretch;    /* of compute, if it runs */
  double work;                      /* its first op: seconds left at full speed ... */
  double work_since;                /* ... as of this time */
  struct sl_unreported *unreported; /* whom completions are told to; NULL: they go to sim->out one by one */
  double thread;                    /* if one thread does everything: when it has done what it has begun */
  bool counting;                    /* the program is a step, whose traffic is counted */
  int rank, class_index;
  double straggler; /* factor by which its compute is slower */
  int64_t step;     /* the one that runs */
  struct sl_sim_call *calls[SL_PROGRAM_COUNT];
  struct sl_sim_load *loads[SL_PROGRAM_COUNT]; /* of each call, if links are shared; else NULL */
  struct sl_traffic_list traffic;
  /* seconds of the calls of each row of `traffic`, by lane, so that their sum does not depend on the order of lanes */
  double *call_s;
  uint64_t call_hash;
};

/* Where the simulated members of a group communicate on one lane: calls of a group on two lanes are independent. */
struct sl_sim_group {
  int first, count; /* its simulated members: sim->members[first ...] */
  int lane;
  int arrived;
  double launched; /* when the last of their hosts has called it */
  int opener;      /* the first to arrive */
};

struct sl_sim {
  const struct sl_job *job;
  bool fold;
  struct sl_exec_assumptions assume;
  int64_t runs; /* to be measured */
  double time;  /* now */
  uint64_t pending;
  bool one_thread; /* a CPU computes, copies between memories and updates in host memory: one op at a time */
  double slow;     /* comm_compute_share: the most that compute loses beside a transfer */
  bool stalls;     /* sl_cost_pipeline_stalls */
  struct sl_sim_rank *ranks;
  int *local_ranks;
  int *local_of;                  /* by rank of the world: the local index of the rank that is simulated for it */
  int *group_key[SL_GROUP_COUNT]; /* folded: see sl_sim_fold; else NULL */
  int count;
  struct sl_sim_program (*programs)[SL_PROGRAM_COUNT]; /* per class */
  struct sl_traffic_list *rows;                        /* per class: the rows of a step, with counts of zero */
  bool meets[SL_LANE_COUNT][SL_GROUP_COUNT];           /* some program calls this group on this lane */
  struct sl_sim_group *groups;
  int *members;
  int group_count;
  struct sl_queue queue; /* sources: local * SL_LANE_COUNT + lane, then the groups */
  struct sl_cost_rank cost_rank;
  struct sl_contention *contention; /* NULL: transfers do not share links */
  enum sl_status status;            /* first failure inside an event */
  bool dry;                         /* a rank has completed everything that it was handed */
  struct sl_completion *out;        /* of the running advance() */
  int out_max, out_count;
  struct sl_completion *spill; /* completions that did not fit into out; at most one event's */
  int spill_first, spill_count;
};

/* The finalizer of MurmurHash3 (public domain): every input bit affects every output bit. */
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
  const struct sl_sim_lane *l = &rank->lanes[lane];
  return (struct sl_issue_ref){&rank->now->program->issues[l->order->items[l->at]], l->turn};
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

/* stand_in.c: warns of the ops of a step that a calibrated profile does not know. */
void sl_sim_say_stand_ins(const struct sl_sim *sim);
/* order.c: tells the lanes of a rank that begins a program which issues are on them, if the event queue runs it. */
enum sl_status sl_sim_take_order(struct sl_sim *sim, struct sl_sim_rank *rank);
/* Moves the head of a lane to its next op, if it has one. */
static inline void sl_sim_step(const struct sl_program *program, const struct sl_sim_order *order, uint32_t *at,
                               uint32_t *turn) {
  if (++*at != order->turn || order->length == 0) return;
  if (*turn < program->repeated.times) {
    *at -= order->length, ++*turn;
  } else {
    *turn = 0;
  }
}
/* tables.c: everything that is known at open. */
enum sl_status sl_sim_tables(struct sl_sim *sim);
/* fitted.c: fills table->fitted, once costs are known. */
enum sl_status sl_sim_fill_fitted(const struct sl_sim *sim, struct sl_sim_program *table);
void sl_sim_tables_free(struct sl_sim *sim);
/* topology.c: the ring through a group's members as each of them sees it (zeros for one member; cost/collective.h has
 * the formula), and the slowest link between two ranks of a pipeline. */
struct sl_link sl_sim_group_link(const struct sl_plan *plan, const struct sl_members *m);
int sl_sim_peer_rank(const struct sl_plan *plan, int rank, int stage);
/* The same ring as NCCL's communicator; the group must have two members or more. */
enum sl_status sl_sim_group_nccl(const struct sl_plan *plan, const struct sl_members *m, struct sl_nccl_group *out);
/* For each level, the time that a byte of such a ring takes on a member's link. */
void sl_sim_group_shares(const struct sl_plan *plan, const struct sl_members *m, double seconds_per_byte[SL_MAX_LINKS]);
const struct sl_link *sl_sim_peer_link(const struct sl_plan *plan, int rank, int stage);
/* fold.c: divides the ranks into *kinds kinds such that all ranks of a kind complete the same ops at the same times.
 * kind[rank] is numbered in the order of the kinds' first ranks. group_key[g][id], for a called group of class g, is
 * equal for groups that do the same; it is owned by the caller, and NULL for a class that is not called. sim->meets
 * must be filled. */
enum sl_status sl_sim_fold(const struct sl_sim *sim, int *kind, int *kinds, int *group_key[SL_GROUP_COUNT]);
/* play.c: runs program `kind` of all ranks, which have begun it (sim_begin), to its end. Errors: SL_ERR_CHECK, as
 * sl_sim_deadlock and sl_sim_mismatch have it. */
enum sl_status sl_sim_play(struct sl_sim *sim, int64_t step, const struct sl_run *run);
/* lanes.c: starts the head of a lane, which must have one, if it can start; completes the event of `source`. Failures
 * are stored in sim->status. */
void sl_sim_try(struct sl_sim *sim, int local, int lane);
void sl_sim_event(struct sl_sim *sim, uint32_t source);
/* counts.c: count a call of a step: its hash when `rank` reaches it, in program order; its traffic when it completes,
 * `seconds` later. */
void sl_sim_hash_call(struct sl_sim_rank *rank, int32_t index);
void sl_sim_count_call(struct sl_sim_rank *rank, int lane, int32_t call, double seconds);
/* Counts a copy between memories in a step, which took `seconds` from when the copying began. Its link counts for at
 * least the time that it takes to carry the bytes. */
void sl_sim_count_copy(struct sl_sim_rank *rank, uint32_t op, double seconds);
/* deadlock.c: SL_ERR_CHECK with a list of who waits for what. */
enum sl_status sl_sim_deadlock(const struct sl_sim *sim);
enum sl_status sl_sim_mismatch(const struct sl_sim *sim, int local, int other, int lane, int other_lane);
