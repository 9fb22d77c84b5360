/* Runs a whole program without an event queue.
 *
 * If nothing slows a running op down and no host launches the ops, an op starts when the last of those it waits for is
 * complete: the op before it on its lane, the ops that its waits name and, for a communication op, the arrivals of the
 * other ranks. Its end is that start plus its seconds. So all times follow from one walk over each rank's program in
 * program order, which stops where it needs the end of a communication that another rank has not reached yet, and
 * continues once that rank has. The event queue computes the same numbers by the same additions: times agree to the
 * last bit.
 *
 * For each lane, the ends of its last ops are kept, as many as the program's waits look back. */
#include "sim/flow.h"

#include "sim/jitter.h"

#include <stdlib.h>
#include <string.h>

struct lane {
  double *ends; /* of op i of the lane: ends[i & mask] */
  uint32_t mask;
  uint32_t count; /* ops walked over */
  bool open;      /* the newest is a communication op whose end is still unknown ... */
  double ready;   /* ... that was reached at this time */
  int32_t call;
  uint32_t issue; /* its index, and as it is stored */
  const struct sl_issue *stored;
};

enum {
  MOST_OPS = 64, /* of compute that run one behind the other, told as one stretch */
  MOST_STRETCHES = 16,
  MOST_TIMES = 192
};

/* What the observer has not been told yet of a rank's ops: it is told of many at once. */
struct untold {
  struct sl_stretch stretches[MOST_STRETCHES];
  uint32_t first[MOST_STRETCHES]; /* issue of each */
  double times[MOST_TIMES];
  uint32_t count, time_count;
};

struct walker {
  struct lane lanes[SL_LANE_COUNT];
  uint32_t next, end;          /* issue; behind the last one */
  struct sl_issue_ref at;      /* the reference of `next` */
  const struct sl_issue *turn; /* sl_issues_turn of the program */
  int parked;                  /* the lane whose end it needs; -1: none */
  struct sl_sim_rank *rank;
  const struct sl_sim_program *table;
  struct untold untold;
};

struct meeting {
  double ready;
  int arrived, opener;
};

struct flow {
  struct sl_sim *sim;
  struct walker *walkers;   /* per local rank */
  struct meeting *meetings; /* per group */
  double *ends;             /* all lanes' */
  int *able;                /* stack of local ranks that may continue */
  int able_count;
  double begin, end;
  bool astray; /* ranks disagree or deadlock: the event queue will find out how */
  int64_t step;
  const struct sl_run *run; /* whose observer is told */
};

/* ---- the observer ---- */

static void tell_one_by_one(const struct sl_run *run, const struct sl_program *program, const struct walker *w,
                            int local, int64_t step) {
  const struct untold *u = &w->untold;
  for (uint32_t k = 0; k < u->count; k++) {
    const struct sl_stretch *s = &u->stretches[k];
    for (uint32_t i = 0; i < s->count; i++) {
      const struct sl_completion done = {local, u->first[k] + i, s->times[i], s->times[i + 1]};
      run->observe(run->observe_context, local, step, program, &done);
    }
  }
}

static void tell(const struct flow *f, int local) {
  const struct sl_run *run = f->run;
  struct walker *w = &f->walkers[local];
  struct untold *u = &w->untold;
  const struct sl_program *program = w->table->program;
  if (run->observe_many != NULL) {
    run->observe_many(run->observe_context, local, f->step, program, u->stretches, u->count);
  } else if (run->observe != NULL) {
    tell_one_by_one(run, program, w, local, f->step);
  }
  u->count = u->time_count = 0;
}

/* Room for the times of a stretch of up to `ops`, for note(). */
static inline double *times_of(const struct flow *f, int local, uint32_t ops) {
  struct untold *u = &f->walkers[local].untold;
  if (u->count == MOST_STRETCHES || u->time_count + ops + 1 > MOST_TIMES) tell(f, local);
  return &u->times[u->time_count];
}

/* Notes `count` ops of a lane that follow each other without a gap, from issue `first` on, which are stored from
 * `stored` on. Their times stand where times_of() says. */
static inline void note(struct untold *u, uint32_t first, const struct sl_issue *stored, uint32_t count) {
  u->stretches[u->count] = (struct sl_stretch){stored, &u->times[u->time_count], count};
  u->first[u->count++] = first;
  u->time_count += count + 1;
}

static inline void note_one(const struct flow *f, int local, uint32_t issue, const struct sl_issue *stored,
                            double start, double end) {
  double *times = times_of(f, local, 1);
  times[0] = start, times[1] = end;
  note(&f->walkers[local].untold, issue, stored, 1);
}

/* ---- one op is complete ---- */

/* Completes the communication that is the newest op of a lane. */
static void complete(struct flow *f, int local, int lane, double end) {
  struct walker *w = &f->walkers[local];
  struct lane *l = &w->lanes[lane];
  l->ends[(l->count - 1) & l->mask] = end;
  l->open = false;
  if (end > f->end) f->end = end;
  if (w->rank->counting) sl_sim_count_call(w->rank, lane, l->call, end - l->ready);
  note_one(f, local, l->issue, l->stored, l->ready, end);
  if (w->parked != lane) return;
  w->parked = -1;
  f->able[f->able_count++] = local;
}

/* ---- rendezvous ---- */

static void meet_group(struct flow *f, int local, int lane) {
  const struct walker *w = &f->walkers[local];
  const struct lane *l = &w->lanes[lane];
  const struct sl_sim_call *call = &w->rank->now_calls[l->call];
  const struct sl_sim_group *group = &f->sim->groups[call->partner];
  struct meeting *m = &f->meetings[call->partner];
  if (group->count == 1 && lane == group->lane) { /* all other members are folded into this one */
    complete(f, local, lane, l->ready + call->seconds);
    return;
  }
  if (m->arrived++ == 0) {
    m->opener = local;
    m->ready = l->ready;
  }
  if (l->ready > m->ready) m->ready = l->ready;
  const struct walker *other = &f->walkers[m->opener];
  const struct sl_sim_call *opening = &other->rank->now_calls[other->lanes[lane].call];
  f->astray |= opening->bytes != call->bytes || opening->seconds != call->seconds || lane != group->lane ||
               opening->kind != call->kind;
  if (f->astray || m->arrived < group->count) return;
  m->arrived = 0;
  for (int i = 0; i < group->count; i++) complete(f, f->sim->members[group->first + i], lane, m->ready + call->seconds);
}

static void meet_peer(struct flow *f, int local, int lane) {
  const struct walker *w = &f->walkers[local];
  const struct lane *l = &w->lanes[lane];
  const struct sl_sim_call *call = &w->rank->now_calls[l->call];
  const struct walker *peer = &f->walkers[call->partner];
  const int peer_lane = sl_sim_peer_lane(lane);
  const struct lane *theirs = &peer->lanes[peer_lane];
  if (!theirs->open || peer->rank->now_calls[theirs->call].partner != local) return;
  const struct sl_sim_call *other = &peer->rank->now_calls[theirs->call];
  f->astray |= other->bytes != call->bytes || other->seconds != call->seconds;
  if (f->astray) return;
  const double end = (l->ready > theirs->ready ? l->ready : theirs->ready) + call->seconds;
  complete(f, local, lane, end);
  complete(f, call->partner, peer_lane, end);
}

/* ---- one rank ---- */

/* When the op of `issue` on `lane` can start; false if that is still unknown, and the rank is then parked. */
static bool ready_at(struct flow *f, struct walker *w, int lane, double *ready) {
  const struct lane *own = &w->lanes[lane];
  *ready = f->begin;
  if (own->open) {
    w->parked = lane;
    return false;
  }
  if (own->count > 0) *ready = own->ends[(own->count - 1) & own->mask];
  for (uint32_t i = 0; i < w->at.stored->wait_count; i++) {
    const struct sl_wait wait = sl_issue_wait(w->table->program, w->at, i);
    const struct lane *l = &w->lanes[wait.lane];
    if (wait.count == 0) continue;
    if (wait.count > l->count) {
      f->astray = true; /* the program waits for a later op */
      return false;
    }
    if (l->open && wait.count == l->count) {
      w->parked = (int)wait.lane;
      return false;
    }
    const double end = l->ends[(wait.count - 1) & l->mask];
    if (end > *ready) *ready = end;
  }
  return true;
}

/* Moves past the next op of a rank, which is returned. */
static inline uint32_t go_on(struct walker *w) {
  sl_issue_step(w->table->program, w->turn, &w->at);
  return w->next++;
}

/* Moves past the next `count` ops of a rank, which are stored one behind another. */
static inline void go_on_by(struct walker *w, uint32_t count) {
  w->next += count;
  w->at.stored += count - 1;
  sl_issue_step(w->table->program, w->turn, &w->at);
}

/* Behind the last issue that is stored behind the next of a rank before the program goes back or ends. */
static inline const struct sl_issue *stored_end(const struct walker *w) {
  const struct sl_program *p = w->table->program;
  return w->at.stored < w->turn ? w->turn : &p->issues[p->issue_count - sl_issues_repeated(p)];
}

/* Runs the next op of a rank, of the compute lane, which can start at `ready`, and those behind it that begin when the
 * one before them ends: compute ops, which are no rendezvous, that wait for nothing else. */
static void compute_on(struct flow *f, int local, double ready) {
  struct walker *w = &f->walkers[local];
  struct lane *l = &w->lanes[SL_LANE_COMPUTE];
  const struct sl_sim_cost *costs = w->table->costs;
  const struct sl_issue *issue = w->at.stored, *const behind = stored_end(w);
  double *times = times_of(f, local, MOST_OPS), end = ready;
  uint32_t count = 0;
  times[0] = ready;
  do {
    end += sl_jitter_seconds(f->sim, w->rank, w->next + count, costs[issue->op].seconds);
    l->ends[(l->count + count) & l->mask] = times[count + 1] = end;
    count++, issue++;
  } while (count < MOST_OPS && issue < behind && issue->wait_count == 0 && costs[issue->op].lane == SL_LANE_COMPUTE);
  l->count += count;
  if (end > f->end) f->end = end;
  note(&w->untold, w->next, w->at.stored, count);
  go_on_by(w, count);
}

/* Runs the next op of a rank, which is neither compute nor a rendezvous. */
static void run_beside(struct flow *f, int local, int lane, double ready) {
  struct walker *w = &f->walkers[local];
  struct lane *l = &w->lanes[lane];
  const struct sl_issue *stored = w->at.stored;
  const uint32_t issue = go_on(w);
  const double end = ready + w->table->costs[stored->op].seconds;
  l->ends[l->count++ & l->mask] = end;
  if (end > f->end) f->end = end;
  if (sl_lane_is_link((enum sl_lane)lane) && w->rank->counting) sl_sim_count_copy(w->rank, stored->op, end - ready);
  note_one(f, local, issue, stored, ready, end);
}

/* The rank reaches its next op, a communication, at `ready`. */
static void reach(struct flow *f, int local, int32_t call, int lane, double ready) {
  struct walker *w = &f->walkers[local];
  struct lane *l = &w->lanes[lane];
  if (w->rank->counting) sl_sim_hash_call(w->rank, call);
  l->count++;
  l->open = true;
  l->ready = ready;
  l->call = call;
  l->stored = w->at.stored;
  l->issue = go_on(w);
  if (lane >= SL_LANE_SEND_F) {
    meet_peer(f, local, lane);
  } else {
    meet_group(f, local, lane);
  }
}

static void walk(struct flow *f, int local) {
  struct walker *w = &f->walkers[local];
  while (w->next < w->end && !f->astray) {
    const struct sl_sim_cost *cost = &w->table->costs[w->at.stored->op];
    double ready;
    if (!ready_at(f, w, cost->lane, &ready)) return;
    if (cost->call >= 0) {
      reach(f, local, cost->call, cost->lane, ready);
    } else if (cost->lane == SL_LANE_COMPUTE) {
      compute_on(f, local, ready);
    } else {
      run_beside(f, local, cost->lane, ready);
    }
  }
}

/* ---- all ranks ---- */

/* How many of a lane's last ops the waits of a program look back on; at least one. */
static void look_back(const struct sl_sim_program *table, uint32_t reach[SL_LANE_COUNT]) {
  const struct sl_program *p = table->program;
  uint32_t count[SL_LANE_COUNT] = {0};
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) reach[lane] = 1;
  for (size_t i = 0; i < p->issue_count - sl_issues_repeated(p); i++) {
    const struct sl_issue *issue = &p->issues[i];
    if (i == p->repeated.first + p->repeated.length)
      for (int lane = 0; lane < SL_LANE_COUNT; lane++) count[lane] += p->repeated.times * p->repeated.lane_ops[lane];
    for (uint32_t k = 0; k < issue->wait_count; k++) {
      const struct sl_wait *wait = &p->waits[issue->wait + k];
      const uint32_t back = count[wait->lane] - wait->count + 1;
      if (wait->count <= count[wait->lane] && back > reach[wait->lane]) reach[wait->lane] = back;
    }
    count[table->costs[issue->op].lane]++;
  }
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) {
    uint32_t power = 1;
    while (power < reach[lane]) power *= 2;
    reach[lane] = power;
  }
}

/* How far the programs of each class look back, SL_LANE_COUNT numbers of `reach` for each; returns their sum over all
 * ranks. */
static size_t every_look_back(const struct sl_sim *sim, enum sl_program_kind kind, uint32_t *reach) {
  size_t sum = 0;
  for (int c = 0; c < sim->job->class_count; c++) look_back(&sim->programs[c][kind], &reach[c * SL_LANE_COUNT]);
  for (int i = 0; i < sim->count; i++)
    for (int lane = 0; lane < SL_LANE_COUNT; lane++) sum += reach[sim->ranks[i].class_index * SL_LANE_COUNT + lane];
  return sum;
}

static void open_walkers(struct flow *f, enum sl_program_kind kind, const uint32_t *reach) {
  double *ends = f->ends;
  for (int i = 0; i < f->sim->count; i++) {
    struct walker *w = &f->walkers[i];
    w->rank = &f->sim->ranks[i];
    w->table = &f->sim->programs[w->rank->class_index][kind];
    w->end = (uint32_t)w->table->program->issue_count;
    w->at = sl_issue_find(w->table->program, 0);
    w->turn = sl_issues_turn(w->table->program);
    w->parked = -1;
    for (int lane = 0; lane < SL_LANE_COUNT; lane++) {
      const uint32_t size = reach[w->rank->class_index * SL_LANE_COUNT + lane];
      w->lanes[lane].ends = ends;
      w->lanes[lane].mask = size - 1;
      ends += size;
    }
  }
}

/* Have all ranks ended? */
static bool all_over(const struct flow *f) {
  for (int i = 0; i < f->sim->count; i++) {
    const struct walker *w = &f->walkers[i];
    if (w->next < w->end) return false;
    for (int lane = 0; lane < SL_LANE_COUNT; lane++)
      if (w->lanes[lane].open) return false;
  }
  return true;
}

enum sl_status sl_flow_run(struct sl_sim *sim, enum sl_program_kind kind, int64_t step, const struct sl_run *run,
                           bool *ran) {
  enum sl_status status;
  struct flow f = {.sim = sim, .begin = sim->time, .end = sim->time, .step = step, .run = run};
  uint32_t *reach = NULL;
  SL_GO(sl_calloc(&reach, (size_t)sim->job->class_count, SL_LANE_COUNT * sizeof *reach));
  SL_GO(sl_calloc(&f.ends, every_look_back(sim, kind, reach), sizeof *f.ends));
  SL_GO(sl_calloc(&f.walkers, (size_t)sim->count, sizeof *f.walkers));
  SL_GO(sl_calloc(&f.meetings, (size_t)sim->group_count, sizeof *f.meetings));
  SL_GO(sl_calloc(&f.able, (size_t)sim->count, sizeof *f.able));
  open_walkers(&f, kind, reach);
  for (int i = sim->count; i-- > 0;) f.able[f.able_count++] = i;
  while (f.able_count > 0 && !f.astray) walk(&f, f.able[--f.able_count]);
  *ran = !f.astray && all_over(&f);
  for (int i = 0; *ran && i < sim->count; i++) tell(&f, i);
  if (*ran) sim->time = f.end;
done:
  free(reach);
  free(f.ends);
  free(f.walkers);
  free(f.meetings);
  free(f.able);
  return status;
}
