/* Runs a whole program without an event queue.
 *
 * If nothing slows a running op down and no host launches the ops, an op starts when the last of those it waits for is
 * complete: the op before it on its lane, the ops that its waits name and, for a communication op, the arrivals of the
 * other ranks. Its end is that start plus its seconds. So all times follow from one walk over each rank's program in
 * program order, which stops where it needs the end of a communication that another rank has not reached yet, and
 * continues once that rank has. The event queue computes the same numbers by the same additions: times agree to the
 * last bit.
 *
 * For each lane, the ends of its last ops are kept, as many as the program's waits look back.
 *
 * Which rank is walked next does not matter, so that crews.c has several threads do it, each for ranks of its own. */
#include "sim/flow.h"

#include "core/base/checked.h"
#include "sim/crews.h"
#include "sim/jitter.h"
#include "sim/unreported.h"

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

struct walker {
  struct lane lanes[SL_LANE_COUNT];
  uint32_t next, end;          /* issue; behind the last one */
  struct sl_issue_ref at;      /* the reference of `next` */
  const struct sl_issue *turn; /* sl_issues_turn of the program */
  int parked;                  /* the lane whose end it needs; -1: none */
  int crew;                    /* the one that walks over it */
  struct sl_sim_rank *rank;
  const struct sl_sim_program *table;
  struct sl_unreported unreported;
};

struct meeting {
  double ready;
  int arrived;
  const struct sl_sim_call *opening; /* as the first to arrive makes it */
  bool across;                       /* its members are of several crews */
};

/* What a rank that has reached a send or a receive tells its partner. */
struct offer {
  const struct sl_sim_call *call; /* NULL: it has reached none */
  double ready;
};

enum { OFFERS = SL_LANE_RECV_B - SL_LANE_SEND_F + 1 }; /* one for each lane of the pipeline */

struct flow {
  struct sl_sim *sim;
  struct sl_crews crews;
  struct walker *walkers;         /* per local rank */
  struct meeting *meetings;       /* per group; those across crews under the lock of `crews` */
  struct offer (*offers)[OFFERS]; /* per local rank; those between crews under that lock, too */
  double *ends;                   /* all lanes' */
  double begin;
  int64_t step;
  const struct sl_run *run; /* whose observer is told */
};

/* ---- one op is complete ---- */

/* Completes the communication that is the newest op of a lane. */
static void complete(struct sl_crew *c, int local, int lane, double end) {
  const struct flow *f = c->work;
  struct walker *w = &f->walkers[local];
  struct lane *l = &w->lanes[lane];
  l->ends[(l->count - 1) & l->mask] = end;
  l->open = false;
  if (end > c->end) c->end = end;
  if (w->rank->counting) sl_sim_count_call(w->rank, lane, l->call, end - l->ready);
  sl_unreported_note_one(&w->unreported, l->issue, l->stored, l->ready, end);
  if (w->parked != lane) return;
  w->parked = -1;
  c->able[c->able_count++] = local;
}

/* ---- rendezvous ---- */

/* Completes the communication of all members of a group: those of other crews learn of it from theirs. */
static void complete_group(struct sl_crew *c, const struct sl_sim_group *group, int lane, double end) {
  const struct flow *f = c->work;
  const int *members = &f->sim->members[group->first];
  for (int i = 0; i < group->count; i++)
    if (f->walkers[members[i]].crew == c->index) complete(c, members[i], lane, end);
}

static void tell_members(struct sl_crew *c, const struct sl_sim_group *group, int lane, double end) {
  const struct flow *f = c->work;
  const int *members = &f->sim->members[group->first];
  for (int i = 0; i < group->count; i++) {
    const int crew = f->walkers[members[i]].crew;
    if (crew != c->index) sl_crews_post(c, crew, (struct sl_crew_news){members[i], lane, end});
  }
}

/* A member arrives; returns whether it is the last one. */
static bool arrive(struct sl_crew *c, struct meeting *m, const struct sl_sim_group *group, int lane, double ready,
                   const struct sl_sim_call *call) {
  if (m->arrived++ == 0) {
    m->opening = call;
    m->ready = ready;
  }
  if (ready > m->ready) m->ready = ready;
  c->astray |= m->opening->bytes != call->bytes || m->opening->seconds != call->seconds || lane != group->lane ||
               m->opening->kind != call->kind;
  if (c->astray || m->arrived < group->count) return false;
  m->arrived = 0;
  return true;
}

static void meet_group(struct sl_crew *c, int local, int lane) {
  const struct flow *f = c->work;
  const struct walker *w = &f->walkers[local];
  const struct lane *l = &w->lanes[lane];
  const struct sl_sim_call *call = &w->rank->now_calls[l->call];
  const struct sl_sim_group *group = &f->sim->groups[call->partner];
  struct meeting *m = &f->meetings[call->partner];
  if (group->count == 1 && lane == group->lane) { /* all other members are folded into this one */
    complete(c, local, lane, l->ready + call->seconds);
    return;
  }
  if (m->across) sl_crews_lock(c);
  const bool all = arrive(c, m, group, lane, l->ready, call);
  const double end = m->ready + call->seconds;
  if (m->across && all) tell_members(c, group, lane, end);
  if (m->across) sl_crews_unlock(c);
  if (all) complete_group(c, group, lane, end);
}

static void meet_peer(struct sl_crew *c, int local, int lane) {
  const struct flow *f = c->work;
  const struct walker *w = &f->walkers[local];
  const double ready = w->lanes[lane].ready;
  const struct sl_sim_call *call = &w->rank->now_calls[w->lanes[lane].call];
  const int peer = call->partner, peer_lane = sl_sim_peer_lane(lane), crew = f->walkers[peer].crew;
  const bool across = crew != c->index;
  struct offer *mine = &f->offers[local][lane - SL_LANE_SEND_F], *theirs = &f->offers[peer][peer_lane - SL_LANE_SEND_F];
  if (across) sl_crews_lock(c);
  const struct sl_sim_call *other = theirs->call;
  const bool meets = other != NULL && other->partner == local;
  const double end = (meets && theirs->ready > ready ? theirs->ready : ready) + call->seconds;
  if (meets) {
    theirs->call = NULL;
    c->astray |= other->bytes != call->bytes || other->seconds != call->seconds;
    if (across) sl_crews_post(c, crew, (struct sl_crew_news){peer, peer_lane, end});
  } else {
    *mine = (struct offer){call, ready};
  }
  if (across) sl_crews_unlock(c);
  if (!meets || c->astray) return;
  complete(c, local, lane, end);
  if (!across) complete(c, peer, peer_lane, end);
}

/* ---- one rank ---- */

/* When the op of `issue` on `lane` can start; false if that is still unknown, and the rank is then parked. */
static bool ready_at(struct sl_crew *c, struct walker *w, int lane, double *ready) {
  const struct lane *own = &w->lanes[lane];
  *ready = ((const struct flow *)c->work)->begin;
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
      c->astray = true; /* the program waits for a later op */
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
static void compute_on(struct sl_crew *c, int local, double ready) {
  const struct flow *f = c->work;
  struct walker *w = &f->walkers[local];
  struct lane *l = &w->lanes[SL_LANE_COMPUTE];
  const struct sl_sim_cost *costs = w->table->costs;
  const struct sl_issue *issue = w->at.stored, *const behind = stored_end(w);
  double *times = sl_unreported_times(&w->unreported, SL_STRETCH_OPS), end = ready;
  uint32_t count = 0;
  times[0] = ready;
  do {
    end += sl_jitter_seconds(f->sim, w->rank, w->next + count, costs[issue->op].seconds);
    l->ends[(l->count + count) & l->mask] = times[count + 1] = end;
    count++, issue++;
  } while (count < SL_STRETCH_OPS && issue < behind && issue->wait_count == 0 &&
           costs[issue->op].lane == SL_LANE_COMPUTE);
  l->count += count;
  if (end > c->end) c->end = end;
  sl_unreported_note(&w->unreported, w->next, w->at.stored, count);
  go_on_by(w, count);
}

/* Runs the next op of a rank, which is neither compute nor a rendezvous. */
static void run_beside(struct sl_crew *c, int local, int lane, double ready) {
  const struct flow *f = c->work;
  struct walker *w = &f->walkers[local];
  struct lane *l = &w->lanes[lane];
  const struct sl_issue *stored = w->at.stored;
  const uint32_t issue = go_on(w);
  const double end = ready + w->table->costs[stored->op].seconds;
  l->ends[l->count++ & l->mask] = end;
  if (end > c->end) c->end = end;
  if (sl_lane_is_link((enum sl_lane)lane) && w->rank->counting) sl_sim_count_copy(w->rank, stored->op, end - ready);
  sl_unreported_note_one(&w->unreported, issue, stored, ready, end);
}

/* The rank reaches its next op, a communication, at `ready`. */
static void reach(struct sl_crew *c, int local, int32_t call, int lane, double ready) {
  struct walker *w = &((const struct flow *)c->work)->walkers[local];
  struct lane *l = &w->lanes[lane];
  if (w->rank->counting) sl_sim_hash_call(w->rank, call);
  l->count++;
  l->open = true;
  l->ready = ready;
  l->call = call;
  l->stored = w->at.stored;
  l->issue = go_on(w);
  if (lane >= SL_LANE_SEND_F) {
    meet_peer(c, local, lane);
  } else {
    meet_group(c, local, lane);
  }
}

static void walk(struct sl_crew *c, int local) {
  struct walker *w = &((const struct flow *)c->work)->walkers[local];
  while (w->next < w->end && !c->astray) {
    const struct sl_sim_cost *cost = &w->table->costs[w->at.stored->op];
    double ready;
    if (!ready_at(c, w, cost->lane, &ready)) return;
    if (cost->call >= 0) {
      reach(c, local, cost->call, cost->lane, ready);
    } else if (cost->lane == SL_LANE_COMPUTE) {
      compute_on(c, local, ready);
    } else {
      run_beside(c, local, cost->lane, ready);
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
    w->unreported.run = f->run, w->unreported.program = w->table->program, w->unreported.local = i,
    w->unreported.step = f->step;
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

/* How many threads may walk: none beside the caller's if the observer takes one op at a time, or if a crew would have
 * little to do between two messages of its neighbours, each of which may have to wake it. */
static int most_crews(const struct sl_sim *sim, enum sl_program_kind kind, const struct sl_run *run) {
  enum { OPS_PER_MESSAGE = 1000 };
  const struct sl_plan *plan = sim->job->plan;
  const int64_t stages = plan->stage_count > plan->pp ? plan->stage_count / plan->pp : 1; /* of a rank that has any */
  const int64_t messages = sl_product(plan->config->gradient_accumulation_steps, stages);
  int64_t ops = 0;
  for (int i = 0; i < sim->count; i++)
    ops += (int64_t)sim->programs[sim->ranks[i].class_index][kind].program->issue_count;
  const int64_t most = ops / sl_product(messages, OPS_PER_MESSAGE);
  const int64_t threads = run->observe_many != NULL ? run->observe_threads : 1;
  const int64_t crews = most < threads ? most : threads;
  return crews < plan->pp ? (int)crews : plan->pp;
}

/* Each crew takes as many neighbours in the pipeline, since most groups are of one stage. */
static void deal_ranks(struct flow *f) {
  const struct sl_sim *sim = f->sim;
  for (int i = sim->count; i-- > 0;) {
    const int pp_rank = sim->job->classes[sim->ranks[i].class_index].pp_rank;
    f->walkers[i].crew = (int)(sl_product(pp_rank, f->crews.count) / sim->job->plan->pp);
    sl_crews_able(&f->crews, f->walkers[i].crew, i);
  }
  for (int g = 0; g < sim->group_count; g++) {
    const int *members = &sim->members[sim->groups[g].first];
    for (int i = 1; i < sim->groups[g].count; i++)
      f->meetings[g].across |= f->walkers[members[i]].crew != f->walkers[members[0]].crew;
  }
}

enum sl_status sl_flow_run(struct sl_sim *sim, enum sl_program_kind kind, int64_t step, const struct sl_run *run,
                           bool *ran) {
  enum sl_status status;
  struct flow f = {.sim = sim, .begin = sim->time, .step = step, .run = run};
  uint32_t *reach = NULL;
  SL_GO(sl_calloc(&reach, (size_t)sim->job->class_count, SL_LANE_COUNT * sizeof *reach));
  SL_GO(sl_calloc(&f.ends, every_look_back(sim, kind, reach), sizeof *f.ends));
  SL_GO(sl_calloc(&f.walkers, (size_t)sim->count, sizeof *f.walkers));
  SL_GO(sl_calloc(&f.meetings, (size_t)sim->group_count, sizeof *f.meetings));
  SL_GO(sl_calloc(&f.offers, (size_t)sim->count, sizeof *f.offers));
  SL_GO(sl_crews_open(&f.crews, most_crews(sim, kind, run), sim->count, walk, complete, &f));
  open_walkers(&f, kind, reach);
  deal_ranks(&f);
  double end = sim->time;
  *ran = sl_crews_run(&f.crews, &end) && all_over(&f);
  for (int i = 0; *ran && i < sim->count; i++) sl_unreported_report(&f.walkers[i].unreported);
  if (*ran) sim->time = end;
done:
  sl_crews_close(&f.crews);
  free(reach);
  free(f.ends);
  free(f.walkers);
  free(f.meetings);
  free(f.offers);
  return status;
}
