/* Checks the communication between ranks, without a clock: the rendezvous of collectives and of sends with receives;
 * see check/rendezvous.h.
 *
 * The ranks of a class run one program, and the groups and pairs of one of them are those of another, shifted. If all
 * members of a class are at the same op, they can therefore all do the same. So each class is walked once, and a group
 * is matched between the classes of its members. Only if that gets stuck are all ranks walked, to name them.
 *
 * There are two runs over the issue lists. The first lets every lane advance independently, as the program allows; a
 * rank that cannot proceed is in a deadlock. The second makes each rank start its communication strictly in issue
 * order, one call at a time: if that gets stuck, the union of the communicators' orders has a cycle. */
#include "core/check/rendezvous.h"
#include "core/base/parallel.h"
#include "core/op/wire.h"

#include <stdlib.h>
#include <string.h>

struct rank_state {
  const struct sl_program *p;
  uint32_t *issue_of[SL_LANE_COUNT]; /* issue index of each op of a lane */
  uint32_t done[SL_LANE_COUNT];
  uint32_t told[SL_LANE_COUNT]; /* ops of each lane that have been reported to the other side as reached */
  uint32_t next_comm, *comms;   /* issue indices of communication ops, in program order */
  uint32_t comm_count;
};

/* Of a group: one member for each index at which members are walked, the first member in front. A million members may
 * be walked at one index, so they are looked through once and not in every call. */
struct circle {
  int *members;
  int count;
};

struct rendezvous {
  const struct sl_job *job;
  struct rank_state *ranks; /* `count` of them: one per class, or all ranks */
  int count;
  bool strict, by_class;
  int *awake, awake_count; /* those to be examined again, as a stack */
  bool *is_awake;
  uint64_t *seen, turn;   /* seen[at] == turn: already counted as a member of this group */
  struct circle *circles; /* by the index of a group's first member, then by kind of group; filled when needed */
};

/* The index in m->ranks at which `rank` is walked, and the rank that is walked there. */
static int walked_at(const struct rendezvous *m, int rank) {
  return m->by_class ? sl_job_class_of(m->job, rank) : rank;
}

static int rank_at(const struct rendezvous *m, int at) {
  return m->by_class ? m->job->classes[at].first_rank : at;
}

static void wake(struct rendezvous *m, int at) {
  if (m->is_awake[at]) return;
  m->is_awake[at] = true;
  m->awake[m->awake_count++] = at;
}

static const struct sl_op *op_at(const struct rank_state *r, uint32_t issue) {
  return &r->p->ops[r->p->issues[issue].op];
}

/* The op at the head of a lane, if its waits are complete (and, in strict order, it is the rank's next). */
static const struct sl_op *head(const struct rendezvous *m, int at, int lane, uint32_t *issue) {
  const struct rank_state *r = &m->ranks[at];
  if (r->done[lane] == r->p->lane_ops[lane]) return NULL;
  *issue = r->issue_of[lane][r->done[lane]];
  const struct sl_issue *e = &r->p->issues[*issue];
  for (unsigned w = 0; w < e->wait_count; w++) {
    const struct sl_wait *wait = &r->p->waits[e->wait + w];
    if (r->done[wait->lane] < wait->count) return NULL;
  }
  const struct sl_op *op = op_at(r, *issue);
  if (m->strict && sl_op_is_comm(op->kind) && r->comms[r->next_comm] != *issue) return NULL;
  return op;
}

static void finish(struct rendezvous *m, int at, int lane) {
  struct rank_state *r = &m->ranks[at];
  r->next_comm += sl_op_is_comm(op_at(r, r->issue_of[lane][r->done[lane]])->kind);
  r->done[lane]++;
  wake(m, at);
}

/* The lane on the other side of a send or receive. */
static int opposite(int lane) {
  static const int other[SL_LANE_COUNT] = {[SL_LANE_SEND_F] = SL_LANE_RECV_F,
                                           [SL_LANE_RECV_F] = SL_LANE_SEND_F,
                                           [SL_LANE_SEND_B] = SL_LANE_RECV_B,
                                           [SL_LANE_RECV_B] = SL_LANE_SEND_B};
  return other[lane];
}

static int peer_rank(const struct sl_plan *plan, int rank, const struct sl_op *op) {
  struct sl_coord c = sl_plan_coord(plan, rank);
  c.pp = op->peer;
  return sl_plan_rank(plan, c);
}

static enum sl_status disagree(const struct rendezvous *m, int a, const struct sl_op *x, int b, const struct sl_op *y) {
  (void)m;
  return sl_fail(
      SL_ERR_CHECK,
      "group %s: rank %d comes with %s of %lld bytes where rank %d comes with %s of %lld bytes  <-- ERROR HERE",
      sl_group_name(x->group), a, sl_op_name(x->kind), (long long)sl_op_comm_bytes(x), b, sl_op_name(y->kind),
      (long long)sl_op_comm_bytes(y));
}

/* The op at the head of `lane` has been reached: wakes whoever completes it, once. */
static void tell(struct rendezvous *m, int at, int lane, int finisher) {
  struct rank_state *r = &m->ranks[at];
  if (r->told[lane] > r->done[lane]) return;
  r->told[lane] = r->done[lane] + 1;
  wake(m, finisher);
}

/* Several members of a group may be walked at one index, in any order. */
static bool seen_before(struct rendezvous *m, int at) {
  const bool before = m->seen[at] == m->turn;
  m->seen[at] = m->turn;
  return before;
}

static enum sl_status fill_circle(struct rendezvous *m, struct circle *c, const struct sl_members *g) {
  const int most = g->size < m->count ? g->size : m->count;
  SL_TRY(sl_calloc(&c->members, (size_t)most, sizeof *c->members));
  m->turn++;
  for (int i = 0; i < g->size && c->count < most; i++) {
    const int member = sl_members_rank(g, i);
    if (!seen_before(m, walked_at(m, member))) c->members[c->count++] = member;
  }
  return SL_OK;
}

/* Tries to complete the op at the head of a lane. A collective happens when every member has it at the head of the same
 * lane; its first member completes it for all of them. */
static enum sl_status try_collective(struct rendezvous *m, int at, int lane, const struct sl_op *op, bool *moved) {
  const int rank = rank_at(m, at);
  const struct sl_members g = sl_plan_group(m->job->plan, op->group, rank);
  if (g.index != 0) {
    tell(m, at, lane, walked_at(m, g.first));
    return SL_OK;
  }
  struct circle *c = &m->circles[(size_t)at * SL_GROUP_COUNT + op->group];
  if (c->members == NULL) SL_TRY(fill_circle(m, c, &g));
  for (int i = 1; i < c->count; i++) {
    uint32_t issue;
    const int member = c->members[i];
    const struct sl_op *theirs = head(m, walked_at(m, member), lane, &issue);
    if (theirs == NULL || !sl_op_is_comm(theirs->kind)) return SL_OK; /* a copy precedes its call */
    if (theirs->kind != op->kind || theirs->group != op->group || theirs->dtype != op->dtype ||
        sl_op_comm_bytes(theirs) != sl_op_comm_bytes(op)) {
      return disagree(m, rank, op, member, theirs);
    }
  }
  for (int i = 0; i < c->count; i++) finish(m, walked_at(m, c->members[i]), lane);
  *moved = true;
  return SL_OK;
}

static enum sl_status try_p2p(struct rendezvous *m, int at, int lane, const struct sl_op *op, bool *moved) {
  uint32_t issue;
  const int rank = rank_at(m, at), other = peer_rank(m->job->plan, rank, op), there = walked_at(m, other);
  if (op->kind != SL_OP_SEND) { /* the sender completes both */
    tell(m, at, lane, there);
    return SL_OK;
  }
  const struct sl_op *theirs = head(m, there, opposite(lane), &issue);
  if (theirs == NULL) return SL_OK;
  /* the middle rank of a V shares a lane between both neighbours: it is the other one's turn */
  if (peer_rank(m->job->plan, other, theirs) != rank) return SL_OK;
  if (theirs->kind != SL_OP_RECV || sl_op_comm_bytes(theirs) != sl_op_comm_bytes(op))
    return disagree(m, rank, op, other, theirs);
  finish(m, at, lane);
  finish(m, there, opposite(lane));
  *moved = true;
  return SL_OK;
}

/* Advances one rank until all its lanes wait. */
static enum sl_status walk(struct rendezvous *m, int at) {
  for (bool moved = true; moved;) {
    moved = false;
    for (int lane = 0; lane < SL_LANE_COUNT; lane++) {
      const struct sl_op *op;
      uint32_t issue;
      while ((op = head(m, at, lane, &issue)) != NULL && !sl_op_is_comm(op->kind)) {
        finish(m, at, lane);
        moved = true;
      }
      if (op == NULL) continue;
      SL_TRY(op->group != SL_GROUP_NONE ? try_collective(m, at, lane, op, &moved) : try_p2p(m, at, lane, op, &moved));
    }
  }
  return SL_OK;
}

/* Reports what each rank waits for, one line per rank, as many as fit into the message. */
static enum sl_status stuck(const struct rendezvous *m) {
  char text[1536];
  size_t n = 0;
  bool any = false;
  for (int at = 0; at < m->count; at++) {
    const struct rank_state *r = &m->ranks[at];
    for (int lane = 0; lane < SL_LANE_COUNT; lane++) {
      if (r->done[lane] == r->p->lane_ops[lane]) continue;
      const uint32_t issue = r->issue_of[lane][r->done[lane]];
      const struct sl_op *op = op_at(r, issue);
      any = true;
      if (!sl_op_is_comm(op->kind) || n + 160 > sizeof text) continue;
      char action[32];
      sl_action_print(action, sizeof action, &r->p->instances[r->p->issues[issue].instance].action);
      n += (size_t)snprintf(text + n, sizeof text - n, "\n  rank %d waits at #%u %s (%s, lane %s)  <-- ERROR HERE",
                            rank_at(m, at), issue, sl_op_name(op->kind), action, sl_lane_name((enum sl_lane)lane));
    }
  }
  if (!any) return SL_OK;
  const char *what = m->strict
                         ? "the communicators' issue orders have a cycle: ranks that start calls in program order hang"
                         : "deadlock";
  if (n == 0) return sl_fail(SL_ERR_CHECK, "%s", what);
  return sl_fail(SL_ERR_CHECK, "%s\n%.*s", what, (int)n - 1, text + 1); /* the list begins with a newline */
}

static enum sl_status open_rank(struct rank_state *r, const struct sl_program *p) {
  uint32_t seen[SL_LANE_COUNT] = {0};
  r->p = p;
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) {
    SL_TRY(sl_calloc(&r->issue_of[lane], p->lane_ops[lane], sizeof(uint32_t)));
  }
  SL_TRY(sl_calloc(&r->comms, p->issue_count, sizeof(uint32_t)));
  for (uint32_t i = 0; i < p->issue_count; i++) {
    const struct sl_op *op = &p->ops[p->issues[i].op];
    r->issue_of[op->lane][seen[op->lane]++] = i;
    if (sl_op_is_comm(op->kind)) r->comms[r->comm_count++] = i;
    /* the calls of a communicator are matched by their order, which only a single FIFO lane guarantees on every rank */
    if (op->group != SL_GROUP_NONE && op->lane != sl_lane_of_group(op->group)) {
      return sl_fail(SL_ERR_CHECK, "#%u %s of group %s stands on lane %s; expected lane %s  <-- ERROR HERE", i,
                     sl_op_name(op->kind), sl_group_name(op->group), sl_lane_name(op->lane),
                     sl_lane_name(sl_lane_of_group(op->group)));
    }
  }
  return SL_OK;
}

static void close_rank(struct rank_state *r) {
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) free(r->issue_of[lane]);
  free(r->comms);
}

static enum sl_status rendezvous(const struct sl_job *job, enum sl_program_kind kind, bool strict, bool by_class) {
  enum sl_status status;
  struct rendezvous m = {.job = job, .strict = strict, .by_class = by_class};
  m.count = by_class ? job->class_count : job->plan->world;
  SL_GO(sl_calloc(&m.ranks, (size_t)m.count, sizeof *m.ranks));
  SL_GO(sl_calloc(&m.awake, (size_t)m.count, sizeof *m.awake));
  SL_GO(sl_calloc(&m.is_awake, (size_t)m.count, sizeof *m.is_awake));
  SL_GO(sl_calloc(&m.seen, (size_t)m.count, sizeof *m.seen));
  SL_GO(sl_calloc(&m.circles, (size_t)m.count, SL_GROUP_COUNT * sizeof *m.circles));
  for (int at = 0; at < m.count; at++)
    SL_GO(open_rank(&m.ranks[at], &job->classes[sl_job_class_of(job, rank_at(&m, at))].programs[kind]));
  for (int at = m.count; at-- > 0;) wake(&m, at);
  while (m.awake_count > 0) {
    const int at = m.awake[--m.awake_count];
    SL_GO(walk(&m, at));
    m.is_awake[at] = false;
  }
  SL_GO(stuck(&m));
done:
  for (int at = 0; m.ranks != NULL && at < m.count; at++) close_rank(&m.ranks[at]);
  for (int i = 0; m.circles != NULL && i < m.count * SL_GROUP_COUNT; i++) free(m.circles[i].members);
  free(m.circles);
  free(m.ranks);
  free(m.awake);
  free(m.is_awake);
  free(m.seen);
  return status;
}

/* An error of a class is an error of its ranks, which are then walked and named. */
static enum sl_status meet_all(const struct sl_job *job, enum sl_program_kind kind, bool strict) {
  if (rendezvous(job, kind, strict, true) == SL_OK) return SL_OK;
  sl_error_clear();
  return rendezvous(job, kind, strict, false);
}

enum sl_status sl_check_meeting(const struct sl_job *job, enum sl_program_kind kind) {
  SL_TRY(meet_all(job, kind, false));
  return meet_all(job, kind, true);
}

static enum sl_status check_class(void *job, int i) {
  const struct sl_class *c = &((const struct sl_job *)job)->classes[i];
  /* the first and the last rank of a class: their slices are furthest apart */
  SL_TRY(sl_check_memory(job, c->first_rank));
  return sl_check_same_memory(job, c->first_rank, c->last_rank) ? SL_OK : sl_check_memory(job, c->last_rank);
}

enum sl_status sl_check(const struct sl_job *job) {
  SL_TRY(sl_parallel(job->class_count, job->threads, check_class, (void *)job));
  for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) SL_TRY(sl_check_meeting(job, (enum sl_program_kind)kind));
  return sl_check_operands(job);
}
