/* How ranks meet: rendezvous of collectives and of sends with receives, without a clock; see check/rendezvous.h.
 *
 * Two runs over all ranks' issue lists. The first lets every lane go on its own, as the program says; a rank that
 * cannot go on is in a deadlock. The second makes each rank start its communication strictly in issue order, one call
 * at a time: if that gets stuck, the union of the communicators' orders has a cycle. */
#include "core/check/rendezvous.h"
#include "core/op/wire.h"

#include <stdlib.h>
#include <string.h>

struct rank_state {
  const struct sl_program *p;
  uint32_t *issue_of[SL_LANE_COUNT]; /* issue index of each op of a lane */
  uint32_t done[SL_LANE_COUNT];
  uint32_t next_comm, *comms; /* issue indices of communication ops, in program order */
  uint32_t comm_count;
};

struct meeting {
  const struct sl_job *job;
  struct rank_state *ranks;
  bool strict;
};

static const struct sl_op *op_at(const struct rank_state *r, uint32_t issue) {
  return &r->p->ops[r->p->issues[issue].op];
}

/* The op at the head of a lane, if its waits are over (and, in strict order, it is the rank's turn). */
static const struct sl_op *head(const struct meeting *m, int rank, int lane, uint32_t *issue) {
  const struct rank_state *r = &m->ranks[rank];
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

static void finish(struct meeting *m, int rank, int lane) {
  struct rank_state *r = &m->ranks[rank];
  r->next_comm += sl_op_is_comm(op_at(r, r->issue_of[lane][r->done[lane]])->kind);
  r->done[lane]++;
}

/* Where a send or receive meets: the lane of the other side. */
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

static enum sl_status disagree(const struct meeting *m, int a, const struct sl_op *x, int b, const struct sl_op *y) {
  (void)m;
  return sl_fail(
      SL_ERR_CHECK,
      "group %s: rank %d comes with %s of %lld bytes where rank %d comes with %s of %lld bytes  <-- ERROR HERE",
      sl_group_name(x->group), a, sl_op_name(x->kind), (long long)sl_op_comm_bytes(x), b, sl_op_name(y->kind),
      (long long)sl_op_comm_bytes(y));
}

/* Try to let the op at the head of `rank`'s lane happen. A collective happens when every member has it at the head of
 * the same lane; it is finished for all of them by its first member. */
static enum sl_status try_collective(struct meeting *m, int rank, int lane, const struct sl_op *op, bool *moved) {
  const struct sl_members g = sl_plan_group(m->job->plan, op->group, rank);
  if (g.index != 0) return SL_OK;
  for (int i = 1; i < g.size; i++) {
    uint32_t issue;
    const int other = sl_members_rank(&g, i);
    const struct sl_op *theirs = head(m, other, lane, &issue);
    if (theirs == NULL || !sl_op_is_comm(theirs->kind)) return SL_OK; /* a copy stands before its call */
    if (theirs->kind != op->kind || theirs->group != op->group || theirs->dtype != op->dtype ||
        sl_op_comm_bytes(theirs) != sl_op_comm_bytes(op)) {
      return disagree(m, rank, op, other, theirs);
    }
  }
  for (int i = 0; i < g.size; i++) finish(m, sl_members_rank(&g, i), lane);
  *moved = true;
  return SL_OK;
}

static enum sl_status try_p2p(struct meeting *m, int rank, int lane, const struct sl_op *op, bool *moved) {
  uint32_t issue;
  if (op->kind != SL_OP_SEND) return SL_OK; /* the sender finishes both */
  const int other = peer_rank(m->job->plan, rank, op);
  const struct sl_op *theirs = head(m, other, opposite(lane), &issue);
  if (theirs == NULL) return SL_OK;
  /* a lane of a rank in the middle of a V serves both neighbours: it is the other one's turn */
  if (peer_rank(m->job->plan, other, theirs) != rank) return SL_OK;
  if (theirs->kind != SL_OP_RECV || sl_op_comm_bytes(theirs) != sl_op_comm_bytes(op))
    return disagree(m, rank, op, other, theirs);
  finish(m, rank, lane);
  finish(m, other, opposite(lane));
  *moved = true;
  return SL_OK;
}

static enum sl_status sweep(struct meeting *m, bool *moved) {
  for (int rank = 0; rank < m->job->plan->world; rank++) {
    for (int lane = 0; lane < SL_LANE_COUNT; lane++) {
      const struct sl_op *op;
      uint32_t issue;
      while ((op = head(m, rank, lane, &issue)) != NULL && !sl_op_is_comm(op->kind)) {
        finish(m, rank, lane);
        *moved = true;
      }
      if (op == NULL) continue;
      SL_TRY(op->group != SL_GROUP_NONE ? try_collective(m, rank, lane, op, moved) : try_p2p(m, rank, lane, op, moved));
    }
  }
  return SL_OK;
}

/* Who waits at what: one line a rank, as far as the message goes. */
static enum sl_status stuck(const struct meeting *m) {
  char text[1536];
  size_t n = 0;
  bool any = false;
  for (int rank = 0; rank < m->job->plan->world; rank++) {
    const struct rank_state *r = &m->ranks[rank];
    for (int lane = 0; lane < SL_LANE_COUNT; lane++) {
      if (r->done[lane] == r->p->lane_ops[lane]) continue;
      const uint32_t issue = r->issue_of[lane][r->done[lane]];
      const struct sl_op *op = op_at(r, issue);
      any = true;
      if (!sl_op_is_comm(op->kind) || n + 160 > sizeof text) continue;
      char action[32];
      sl_action_print(action, sizeof action, &r->p->instances[r->p->issues[issue].instance].action);
      n += (size_t)snprintf(text + n, sizeof text - n, "\n  rank %d waits at #%u %s (%s, lane %s)  <-- ERROR HERE",
                            rank, issue, sl_op_name(op->kind), action, sl_lane_name((enum sl_lane)lane));
    }
  }
  if (!any) return SL_OK;
  return sl_fail(SL_ERR_CHECK, "%s%.*s",
                 m->strict
                     ? "the communicators' issue orders have a cycle: ranks that start calls in program order hang"
                     : "deadlock",
                 (int)n, text);
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
    /* a communicator's calls are matched by their order, which only one FIFO lane can promise on every rank */
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

static enum sl_status meet(const struct sl_job *job, enum sl_program_kind kind, bool strict) {
  enum sl_status status;
  const int world = job->plan->world;
  struct meeting m = {.job = job, .strict = strict};
  bool moved = true;
  SL_TRY(sl_calloc(&m.ranks, (size_t)world, sizeof *m.ranks));
  for (int i = 0; i < world; i++) SL_GO(open_rank(&m.ranks[i], &job->classes[sl_job_class_of(job, i)].programs[kind]));
  while (moved) {
    moved = false;
    SL_GO(sweep(&m, &moved));
  }
  SL_GO(stuck(&m));
done:
  for (int i = 0; i < world; i++) close_rank(&m.ranks[i]);
  free(m.ranks);
  return status;
}

enum sl_status sl_check_meeting(const struct sl_job *job, enum sl_program_kind kind) {
  SL_TRY(meet(job, kind, false));
  return meet(job, kind, true);
}

enum sl_status sl_check(const struct sl_job *job) {
  for (int i = 0; i < job->class_count; i++) {
    const struct sl_class *c = &job->classes[i];
    /* the first and the last rank of a class: their slices stand furthest apart */
    SL_TRY(sl_check_memory(job, c->first_rank));
    if (c->rank_count > 1) SL_TRY(sl_check_memory(job, c->first_rank + c->rank_count - 1));
  }
  for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) SL_TRY(sl_check_meeting(job, (enum sl_program_kind)kind));
  return sl_check_operands(job);
}
