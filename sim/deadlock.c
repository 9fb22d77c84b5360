/* Explains a deadlock: who waits for what. Ranks that wait for other ranks are named first; if there are none, a rank
 * waits for an op of its own that was never handed over, or that waits for it in turn. */
#include "sim/state.h"

#include <stdio.h>

struct text {
  char data[1800];
  size_t used;
  int lines, left_out;
};

enum { MAX_LINES = 12 };

/* "#17 recv (2RECV_F3)" */
static void name_head(char *out, size_t size, const struct sl_sim_rank *rank, int lane) {
  const struct sl_program *program = rank->now->program;
  const uint32_t instance = sl_issue_instance(program, sl_sim_head(rank, lane));
  char action[64] = "no action";
  if (instance < program->instance_count) {
    sl_action_print(action, sizeof action, &program->instances[instance].action);
  }
  snprintf(out, size, "#%u %s (%s)", (unsigned)sl_issue_number(program, sl_sim_head(rank, lane)),
           sl_op_name(sl_sim_head_op(rank, lane)->kind), action);
}

static void add_line(struct text *text, const struct sl_sim_rank *rank, int lane, const char *reason) {
  if (text->lines == MAX_LINES) {
    text->left_out++;
    return;
  }
  char head[160];
  name_head(head, sizeof head, rank, lane);
  int n = snprintf(text->data + text->used, sizeof text->data - text->used, "\n  rank %d waits at %s: %s", rank->rank,
                   head, reason);
  size_t room = sizeof text->data - text->used - 1;
  text->used += n > 0 && (size_t)n < room ? (size_t)n : room;
  text->lines++;
}

/* "rank 1, 3 have not reached this call of group dp" */
static void say_group(struct text *text, const struct sl_sim *sim, const struct sl_sim_rank *rank, int lane) {
  const struct sl_sim_group *group = &sim->groups[rank->now_calls[rank->lanes[lane].call].partner];
  char reason[256];
  int used = snprintf(reason, sizeof reason, "group %s lacks rank", sl_group_name(sl_sim_head_op(rank, lane)->group));
  for (int i = 0; i < group->count && used < (int)sizeof reason - 16; i++) {
    const struct sl_sim_rank *other = &sim->ranks[sim->members[group->first + i]];
    if (other->lanes[lane].state == SL_SIM_MEETING) continue;
    used += snprintf(reason + used, sizeof reason - (size_t)used, " %d", other->rank);
  }
  add_line(text, rank, lane, reason);
}

static void say_peer(struct text *text, const struct sl_sim *sim, const struct sl_sim_rank *rank, int lane) {
  const struct sl_sim_rank *peer = &sim->ranks[rank->now_calls[rank->lanes[lane].call].partner];
  int peer_lane = sl_sim_peer_lane(lane);
  char reason[256];
  if (peer->lanes[peer_lane].state == SL_SIM_IDLE) {
    snprintf(reason, sizeof reason, "nothing left on lane %s of rank %d", sl_lane_name(peer_lane), peer->rank);
  } else {
    char head[160];
    name_head(head, sizeof head, peer, peer_lane);
    snprintf(reason, sizeof reason, "lane %s of rank %d is at %s", sl_lane_name(peer_lane), peer->rank, head);
  }
  add_line(text, rank, lane, reason);
}

static void say_blocked(struct text *text, const struct sl_sim_rank *rank, int lane) {
  const struct sl_sim_lane *l = &rank->lanes[lane], *blocker = &rank->lanes[l->blocker];
  char reason[256];
  snprintf(reason, sizeof reason, "lane %s has completed %u of the %u ops it waits for, and was handed %u",
           sl_lane_name(l->blocker), (unsigned)blocker->done, (unsigned)l->need, (unsigned)blocker->issued);
  add_line(text, rank, lane, reason);
}

/* A lane that only waits for one of its rank's lanes that waits for other ranks is not worth reporting: only other
 * blocks are. */
static bool is_root(const struct sl_sim_rank *rank, int lane) {
  const struct sl_sim_lane *l = &rank->lanes[lane];
  if (l->state != SL_SIM_BLOCKED) return false;
  return rank->lanes[l->blocker].state == SL_SIM_IDLE || rank->lanes[l->blocker].state == SL_SIM_BLOCKED;
}

enum sl_status sl_sim_deadlock(const struct sl_sim *sim) {
  struct text text = {.used = 0};
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < sim->count; i++) {
      const struct sl_sim_rank *rank = &sim->ranks[i];
      for (int lane = 0; lane < SL_LANE_COUNT; lane++) {
        if (pass == 0 && rank->lanes[lane].state == SL_SIM_MEETING) {
          if (lane >= SL_LANE_SEND_F) {
            say_peer(&text, sim, rank, lane);
          } else {
            say_group(&text, sim, rank, lane);
          }
        }
        if (pass == 1 && is_root(rank, lane)) say_blocked(&text, rank, lane);
      }
    }
  }
  char more[48] = "";
  if (text.left_out > 0) snprintf(more, sizeof more, "\n  and %d more", text.left_out);
  return sl_fail(SL_ERR_CHECK, "deadlock at t=%.6g s\n%s%s", sim->time, text.used > 0 ? text.data + 1 : "",
                 more); /* the list begins with a newline */
}

enum sl_status sl_sim_mismatch(const struct sl_sim *sim, int local, int other, int lane, int other_lane) {
  const struct sl_sim_rank *a = &sim->ranks[local], *b = &sim->ranks[other];
  char mine[160], theirs[160];
  name_head(mine, sizeof mine, a, lane);
  name_head(theirs, sizeof theirs, b, other_lane);
  return sl_fail(SL_ERR_CHECK,
                 "ranks disagree at t=%.6g s\n  rank %d is at %s with %lld bytes\n  rank %d is at %s with %lld bytes",
                 sim->time, a->rank, mine, (long long)a->now_calls[a->lanes[lane].call].bytes, b->rank, theirs,
                 (long long)b->now_calls[b->lanes[other_lane].call].bytes);
}
