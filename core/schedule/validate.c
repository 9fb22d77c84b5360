/* Checks whether a schedule is complete and in order, rank by rank; see sl_schedule_validate in schedule/action.h.
 * Errors in the order across ranks (deadlocks) are found by playing it: schedule/run.c. */
#include "core/schedule/action.h"

#include <stdlib.h>
#include <string.h>

/* What a (stage, micro-batch) has seen, as bits. */
enum { F = 1, B = 2, I = 4, W = 8, SEND_F = 16, RECV_F = 32, SEND_B = 64, RECV_B = 128 };

/* What a stage has seen. */
struct stage_state {
  bool whole;    /* is unsharded now */
  bool reduced;  /* REDUCE_GRAD has happened */
  int backwards; /* B or W so far */
  bool fed, led; /* its input, and its gradient, come as messages of other ranks: there are messages */
};

struct checker {
  const struct sl_schedule *s;
  unsigned char *seen; /* (stages, micro_batches) */
  struct stage_state *stage;
  bool *shards; /* per rank: has UNSHARD */
  bool lowered; /* has sends or receives */
  int rank;
  int64_t step;
};

static bool is_transfer(enum sl_action_kind kind) {
  return kind >= SL_ACTION_SEND_F && kind <= SL_ACTION_RECV_B;
}

static int bit_of(enum sl_action_kind kind) {
  static const int bits[SL_ACTION_COUNT] = {
      [SL_ACTION_FORWARD] = F,         [SL_ACTION_BACKWARD] = B,    [SL_ACTION_BACKWARD_INPUT] = I,
      [SL_ACTION_BACKWARD_WEIGHT] = W, [SL_ACTION_SEND_F] = SEND_F, [SL_ACTION_RECV_F] = RECV_F,
      [SL_ACTION_SEND_B] = SEND_B,     [SL_ACTION_RECV_B] = RECV_B,
  };
  return bits[kind];
}

#define FAIL(k, ...) sl_schedule_fail((k)->s, (k)->rank, (k)->step, __VA_ARGS__)

/* The stage at the other end if it is on another rank, else -1. */
static int remote(const struct sl_schedule *s, int stage, int peer) {
  return peer >= 0 && peer < s->stages && s->stage_rank[peer] != s->stage_rank[stage] ? peer : -1;
}

static enum sl_status check_compute(struct checker *k, const struct sl_action *a, int seen) {
  struct stage_state *stage = &k->stage[a->stage];
  const bool backward = a->kind == SL_ACTION_BACKWARD || a->kind == SL_ACTION_BACKWARD_INPUT;
  if (k->shards[k->rank] && !stage->whole) return FAIL(k, "stage %d is not unsharded here", a->stage);
  if (backward && !(seen & F)) return FAIL(k, "the backward comes before its forward");
  if (backward && (seen & (B | I))) return FAIL(k, "the micro-batch has had its backward");
  if (a->kind == SL_ACTION_BACKWARD_WEIGHT && (seen & B)) return FAIL(k, "the weight gradient is part of its B");
  if (a->kind == SL_ACTION_BACKWARD_WEIGHT && !(seen & I)) return FAIL(k, "the weight gradient comes before its I");
  if (stage->fed && a->kind == SL_ACTION_FORWARD && !(seen & RECV_F))
    return FAIL(k, "its input has not been received: no %dRECV_F%d before it", a->stage, a->micro_batch);
  if (stage->led && backward && !(seen & RECV_B))
    return FAIL(k, "its gradient has not been received: no %dRECV_B%d before it", a->stage, a->micro_batch);
  if (a->kind == SL_ACTION_BACKWARD || a->kind == SL_ACTION_BACKWARD_WEIGHT) stage->backwards++;
  return SL_OK;
}

static enum sl_status check_transfer(struct checker *k, const struct sl_action *a, int seen) {
  const int peer = sl_action_peer_stage(a);
  if (peer < 0 || peer >= k->s->stages) return FAIL(k, "there is no stage %d", peer);
  if (remote(k->s, a->stage, peer) < 0) return FAIL(k, "stages %d and %d are on the same rank", a->stage, peer);
  if (a->kind == SL_ACTION_SEND_F && !(seen & F)) return FAIL(k, "it sends what no F has computed yet");
  if (a->kind == SL_ACTION_SEND_B && !(seen & (B | I))) return FAIL(k, "it sends what no B or I has computed yet");
  return SL_OK;
}

static enum sl_status check_micro(struct checker *k, const struct sl_action *a) {
  if (a->micro_batch < 0 || a->micro_batch >= k->s->micro_batches)
    return FAIL(k, "micro-batch %d; expected 0 to %d", a->micro_batch, k->s->micro_batches - 1);
  unsigned char *seen = &k->seen[(size_t)a->stage * (size_t)k->s->micro_batches + (size_t)a->micro_batch];
  if (*seen & bit_of(a->kind)) return FAIL(k, "stands twice");
  SL_TRY(is_transfer(a->kind) ? check_transfer(k, a, *seen) : check_compute(k, a, *seen));
  *seen |= (unsigned char)bit_of(a->kind);
  return SL_OK;
}

static enum sl_status check_stage_action(struct checker *k, const struct sl_action *a) {
  struct stage_state *stage = &k->stage[a->stage];
  if (a->kind == SL_ACTION_UNSHARD) {
    if (stage->whole) return FAIL(k, "stage %d is unsharded already", a->stage);
    stage->whole = true;
  } else if (a->kind == SL_ACTION_RESHARD) {
    if (!stage->whole) return FAIL(k, "stage %d is not unsharded here", a->stage);
    stage->whole = false;
  } else {
    if (stage->reduced) return FAIL(k, "stands twice");
    if (stage->backwards < k->s->micro_batches)
      return FAIL(k, "%d of the %d micro-batches have added their gradients", stage->backwards, k->s->micro_batches);
    stage->reduced = true;
  }
  return SL_OK;
}

static enum sl_status check_action(struct checker *k, const struct sl_action *a) {
  if (a->kind == SL_ACTION_IDLE || (a->kind >= SL_ACTION_STEP && a->kind <= SL_ACTION_SAVE)) return SL_OK;
  if (a->stage < 0 || a->stage >= k->s->stages)
    return FAIL(k, "stage %d; expected 0 to %d", a->stage, k->s->stages - 1);
  if (k->s->stage_rank[a->stage] != k->rank)
    return FAIL(k, "stage %d is on rank %d", a->stage, k->s->stage_rank[a->stage]);
  return sl_action_computes(a->kind) || is_transfer(a->kind) ? check_micro(k, a) : check_stage_action(k, a);
}

/* What is still missing for a (stage, micro-batch) at the end. */
static const char *missing(const struct checker *k, int stage, int seen) {
  const bool split = seen & I;
  if (!(seen & F)) return "F";
  if (!split && !(seen & B)) return "B, or I and W";
  if (split && !(seen & W)) return "W";
  if (k->stage[stage].led && !(seen & SEND_F)) return "SEND_F";
  if (k->stage[stage].led && !(seen & RECV_B)) return "RECV_B";
  if (k->stage[stage].fed && !(seen & RECV_F)) return "RECV_F";
  if (k->stage[stage].fed && !(seen & SEND_B)) return "SEND_B";
  return NULL;
}

static enum sl_status check_complete(struct checker *k) {
  const struct sl_schedule *s = k->s;
  for (int stage = 0; stage < s->stages; stage++) {
    k->rank = s->stage_rank[stage];
    k->step = (int64_t)s->counts[k->rank];
    for (int i = 0; i < s->micro_batches; i++) {
      const int seen = k->seen[(size_t)stage * (size_t)s->micro_batches + (size_t)i];
      const char *what = missing(k, stage, seen);
      if (what != NULL) return FAIL(k, "the list ends, and micro-batch %d of stage %d has no %s", i, stage, what);
    }
    if (k->shards[k->rank] && k->stage[stage].whole)
      return FAIL(k, "the list ends, and stage %d has no RESHARD", stage);
  }
  return SL_OK;
}

static void find_forms(struct checker *k) {
  for (int rank = 0; rank < k->s->ranks; rank++) {
    for (size_t i = 0; i < k->s->counts[rank]; i++) {
      const enum sl_action_kind kind = k->s->actions[rank][i].kind;
      k->lowered |= is_transfer(kind);
      k->shards[rank] |= kind == SL_ACTION_UNSHARD;
    }
  }
  for (int stage = 0; stage < k->s->stages; stage++) {
    k->stage[stage].fed = k->lowered && remote(k->s, stage, stage - 1) >= 0;
    k->stage[stage].led = k->lowered && remote(k->s, stage, stage + 1) >= 0;
  }
}

enum sl_status sl_schedule_validate(const struct sl_schedule *s) {
  enum sl_status status;
  struct checker k = {.s = s};
  SL_GO(sl_calloc(&k.seen, (size_t)s->stages * (size_t)s->micro_batches, 1));
  SL_GO(sl_calloc(&k.stage, (size_t)s->stages, sizeof *k.stage));
  SL_GO(sl_calloc(&k.shards, (size_t)s->ranks, sizeof *k.shards));
  find_forms(&k);
  for (k.rank = 0; k.rank < s->ranks; k.rank++)
    for (k.step = 0; (size_t)k.step < s->counts[k.rank]; k.step++) SL_GO(check_action(&k, &s->actions[k.rank][k.step]));
  SL_GO(check_complete(&k));
done:
  free(k.seen);
  free(k.stage);
  free(k.shards);
  return status;
}
