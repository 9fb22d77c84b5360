/* The compute actions of one rank under each schedule; see schedule/action.h for what each schedule is. Here p is the
 * number of ranks, r the rank, v the stages per rank and m the micro-batches. Idle ticks are not written: the actions
 * determine who waits for what. */
#include "core/schedule/builders.h"

#include <string.h>

static enum sl_status add(struct sl_schedule *s, int rank, enum sl_action_kind kind, int stage, int micro_batch) {
  return sl_schedule_append(s, rank, (struct sl_action){kind, stage, micro_batch});
}

static int least(int a, int b) {
  return a < b ? a : b;
}

static enum sl_status build_gpipe(struct sl_schedule *s, int rank) {
  for (int i = 0; i < s->micro_batches; i++) SL_TRY(add(s, rank, SL_ACTION_FORWARD, rank, i));
  for (int i = 0; i < s->micro_batches; i++) SL_TRY(add(s, rank, SL_ACTION_BACKWARD, rank, i));
  return SL_OK;
}

/* Backwards of a stage run from its last micro-batch to its first, as in PyTorch. */
static enum sl_status build_looped_bfs(struct sl_schedule *s, int rank) {
  for (int stage = rank; stage < s->stages; stage += s->ranks)
    for (int i = 0; i < s->micro_batches; i++) SL_TRY(add(s, rank, SL_ACTION_FORWARD, stage, i));
  for (int stage = rank + s->stages - s->ranks; stage >= 0; stage -= s->ranks)
    for (int i = s->micro_batches - 1; i >= 0; i--) SL_TRY(add(s, rank, SL_ACTION_BACKWARD, stage, i));
  return SL_OK;
}

/* 1F1B and related schedules. Micro-batches are dealt out in rounds of `round`; within a round every stage has its
 * turn, forwards from the first stage, backwards from the last. The k-th forward (or backward) of a rank is thus that
 * of stage (k / round) mod v and of micro-batch (k / (round * v)) * round + k mod round; with m = rounds * round this
 * enumerates every (stage, micro-batch) once. */
struct deal {
  int ranks, rank, stages, round;
};

static struct deal deal_rounds(const struct sl_schedule *s, int rank) {
  const int rounds = s->micro_batches > s->ranks ? s->micro_batches / s->ranks : 1;
  return (struct deal){s->ranks, rank, s->stages / s->ranks, s->micro_batches / rounds};
}

static enum sl_status add_dealt(struct sl_schedule *s, const struct deal *d, enum sl_action_kind kind, int k) {
  int stage = k / d->round % d->stages;
  if (kind != SL_ACTION_FORWARD) stage = d->stages - 1 - stage;
  return add(s, d->rank, kind, stage * d->ranks + d->rank, k / (d->round * d->stages) * d->round + k % d->round);
}

/* `warm_up` forwards, then a forward and a backward in turn, then the remaining backwards. */
static enum sl_status build_one_by_one(struct sl_schedule *s, const struct deal *d, int warm_up) {
  const int total = s->micro_batches * d->stages;
  warm_up = least(warm_up, total);
  for (int k = 0; k < warm_up; k++) SL_TRY(add_dealt(s, d, SL_ACTION_FORWARD, k));
  for (int k = 0; k < total; k++) {
    if (warm_up + k < total) SL_TRY(add_dealt(s, d, SL_ACTION_FORWARD, warm_up + k));
    SL_TRY(add_dealt(s, d, SL_ACTION_BACKWARD, k));
  }
  return SL_OK;
}

/* Warm-up p - r - 1, so that p - r micro-batches are in flight. */
static enum sl_status build_1f1b(struct sl_schedule *s, int rank) {
  const struct deal d = {s->ranks, rank, 1, s->micro_batches};
  return build_one_by_one(s, &d, s->ranks - rank - 1);
}

/* Warm-up (v - 1) round + 2 (p - r - 1): the first backward arrives after the last stage's first forward has passed
 * down. */
static enum sl_status build_interleaved(struct sl_schedule *s, int rank) {
  const struct deal d = deal_rounds(s, rank);
  return build_one_by_one(s, &d, (d.stages - 1) * d.round + 2 * (s->ranks - rank - 1));
}

/* Split backward: I as early as possible, W delayed by r of them. This fills the idle time of the drain, while no rank
 * holds more than the first rank of 1F1B does. The warm-up is half of interleaved's, since I alone is as short as F. */
static enum sl_status build_split(struct sl_schedule *s, int rank) {
  const struct deal d = deal_rounds(s, rank);
  const int total = s->micro_batches * d.stages;
  const int warm_up = least((d.stages - 1) * d.round + s->ranks - rank - 1, total);
  int weights = 0;
  for (int k = 0; k < warm_up; k++) SL_TRY(add_dealt(s, &d, SL_ACTION_FORWARD, k));
  for (int k = 0; k < total; k++) {
    if (warm_up + k < total) SL_TRY(add_dealt(s, &d, SL_ACTION_FORWARD, warm_up + k));
    SL_TRY(add_dealt(s, &d, SL_ACTION_BACKWARD_INPUT, k));
    if (k >= rank) SL_TRY(add_dealt(s, &d, SL_ACTION_BACKWARD_WEIGHT, weights++));
  }
  while (weights < total) SL_TRY(add_dealt(s, &d, SL_ACTION_BACKWARD_WEIGHT, weights++));
  return SL_OK;
}

/* ZB-V: each rank has a stage of the way down and one of the way up; the counters say what each has done. The pattern
 * is that of max(2p - 1, m) micro-batches; those beyond m are left out. */
struct v_rank {
  struct sl_schedule *s;
  int rank, stage[2], forward[2], input[2], weight[2];
};

static enum sl_status v_add(struct v_rank *z, enum sl_action_kind kind, int stage, int *count) {
  const int micro_batch = (*count)++;
  return micro_batch < z->s->micro_batches ? add(z->s, z->rank, kind, z->stage[stage], micro_batch) : SL_OK;
}

static enum sl_status v_forward(struct v_rank *z, int stage) {
  return v_add(z, SL_ACTION_FORWARD, stage, &z->forward[stage]);
}

static enum sl_status v_input(struct v_rank *z, int stage) {
  return v_add(z, SL_ACTION_BACKWARD_INPUT, stage, &z->input[stage]);
}

static enum sl_status v_weight(struct v_rank *z, int stage) {
  return v_add(z, SL_ACTION_BACKWARD_WEIGHT, stage, &z->weight[stage]);
}

static enum sl_status v_backward(struct v_rank *z, int stage) {
  SL_TRY(v_input(z, stage));
  return v_weight(z, stage);
}

static enum sl_status v_warm_up(struct v_rank *z) {
  const int p = z->s->ranks, r = z->rank;
  for (int i = 0; i < 2 * (p - r) - 1; i++) SL_TRY(v_forward(z, 0));
  for (int i = 0; i < r; i++) {
    SL_TRY(v_forward(z, 1));
    SL_TRY(v_forward(z, 0));
  }
  for (int i = 0; i < p - r; i++) {
    SL_TRY(v_forward(z, 1));
    SL_TRY(v_backward(z, 1));
  }
  return SL_OK;
}

static enum sl_status v_drain(struct v_rank *z) {
  for (int i = 0; i < z->rank; i++) {
    SL_TRY(v_input(z, 0));
    SL_TRY(v_input(z, 1));
  }
  for (int i = z->rank; i < z->s->ranks; i++) SL_TRY(v_backward(z, 0));
  while (z->weight[1] < z->input[1]) SL_TRY(v_weight(z, 1));
  while (z->weight[0] < z->input[0]) SL_TRY(v_weight(z, 0));
  return SL_OK;
}

static enum sl_status build_zbv(struct sl_schedule *s, int rank) {
  struct v_rank z = {.s = s, .rank = rank, .stage = {rank, 2 * s->ranks - 1 - rank}};
  const int full = s->micro_batches > 2 * s->ranks - 1 ? s->micro_batches : 2 * s->ranks - 1;
  SL_TRY(v_warm_up(&z));
  while (z.forward[1] < z.forward[0] || z.forward[0] < full) {
    if (z.forward[0] < full) SL_TRY(v_forward(&z, 0));
    SL_TRY(v_backward(&z, 0));
    SL_TRY(v_forward(&z, 1));
    SL_TRY(v_backward(&z, 1));
  }
  return v_drain(&z);
}

#define STAGES(min, max, usual) .min_stages = (min), .max_stages = (max), .default_stages = (usual)

static const struct sl_schedule_builder builders[] = {
    {"gpipe", "all forwards, then all backwards", STAGES(1, 1, 1), .build = build_gpipe},
    {"1f1b", "one forward, one backward in turn", STAGES(1, 1, 1), .build = build_1f1b},
    {"interleaved", "1f1b over several stages a rank", STAGES(1, 0, 2), .rounds = true, .build = build_interleaved},
    {"looped-bfs", "several stages a rank, all micro-batches of one first", STAGES(1, 0, 2), .build = build_looped_bfs},
    {"zb-h1", "1f1b with weight gradients put off to fill the bubble", STAGES(1, 1, 1), .build = build_split},
    {"interleaved-zb", "interleaved with weight gradients put off", STAGES(1, 0, 2), .rounds = true,
     .build = build_split},
    {"zbv", "two stages a rank in a V, no bubble but the skew", STAGES(2, 2, 2), .v_shape = true, .build = build_zbv},
};

const struct sl_schedule_builder *sl_schedule_builder_at(int i) {
  return i >= 0 && i < (int)(sizeof builders / sizeof *builders) ? &builders[i] : NULL;
}

const struct sl_schedule_builder *sl_schedule_builder_find(const char *name) {
  for (int i = 0; sl_schedule_builder_at(i) != NULL; i++)
    if (strcmp(builders[i].name, name) == 0) return &builders[i];
  return NULL;
}
