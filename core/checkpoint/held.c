/* See held.h. */
#include "core/checkpoint/held.h"

#include "core/base/machine.h"
#include "core/checkpoint/pieces.h"
#include "core/checkpoint/read_ahead.h"
#include "core/program/locate.h"

#include <stdlib.h>
#include <string.h>

/* Weights are requested twice if there is a master copy too. */
enum { TIMES = 2 };

struct sl_held {
  /* claims, in the order in which they will be requested; owned, as everything below */
  struct sl_read_ahead_entry *order;
  size_t count, capacity;
  int64_t *turns[TIMES];       /* per piece: its index in that order, for the first and the second request; -1: none */
  unsigned char *begun;        /* per tensor of the manifest: part of it has been requested */
  int tensor;                  /* the tensor requested last; -1: none */
  bool again;                  /* for the second time */
  struct sl_read_ahead *ahead; /* NULL: nothing is read yet, or everything has been */
  double seconds;
  enum sl_status status; /* of reading the weights */
  char message[1024];
};

/* ---- claims ---- */

/* Counts the elements of each piece of `t` that are in [first, first + count) of the local tensor of `member`, under
 * the sharding of the current plan. */
static void count_needs(const struct sl_checkpoint *c, const struct sl_manifest_tensor *t, const struct sl_cut *cut,
                        int member, int64_t first, int64_t count, int64_t *needs) {
  for (int64_t local = first; local < first + count;) {
    const struct sl_run_of run = sl_cut_run(cut, member, local, first + count);
    local += run.count;
    for (int64_t done = 0, n; run.logical >= 0 && done < run.count; done += n) {
      const struct sl_cut_place at = sl_cut_find(&t->cut, run.logical + done);
      const struct sl_manifest_piece *p = sl_manifest_piece_at(&c->manifest, t, at.member, at.local);
      n = at.count < run.count - done ? at.count : run.count - done;
      if (p->first + p->count - at.local < n) n = p->first + p->count - at.local;
      needs[p - &c->manifest.pieces[t->first_piece]] += n;
    }
  }
}

static enum sl_status add_claim(struct sl_held *held, enum sl_role role, int piece) {
  SL_TRY(sl_grow(&held->order, &held->capacity, held->count + 1, sizeof *held->order));
  held->turns[role == SL_ROLE_MASTER][piece] = (int64_t)held->count;
  held->order[held->count++] = (struct sl_read_ahead_entry){.piece = piece};
  return SL_OK;
}

static enum sl_status claim_state(const struct sl_checkpoint *c, const struct sl_job *job, int rank, enum sl_role role,
                                  int placed, unsigned char *claims) {
  const struct sl_coord at = sl_plan_coord(job->plan, rank);
  const int tensor = job->plan->pp_ranks[at.pp].tensors[placed].tensor;
  const struct sl_checkpoint_state state = sl_checkpoint_state_of(job->plan, tensor, role);
  const struct sl_located where = sl_job_locate(job, rank, role, placed);
  const struct sl_manifest_tensor *t = sl_manifest_find(&c->manifest, job->plan->model->tensors[tensor].name, role);
  const struct sl_cut cut = state.cut;
  enum sl_status status = SL_OK;
  int64_t *needs;
  if (t == NULL || where.count == 0) return SL_OK;
  if (t->shape[1] != state.shape[1] && role == SL_ROLE_FP8_HISTORY) return SL_OK; /* only part of each row is read */
  SL_TRY(sl_calloc(&needs, (size_t)t->piece_count, sizeof *needs));
  count_needs(c, t, &cut, cut.members > 1 ? at.tp : 0, where.first, where.count, needs);
  for (int k = t->first_piece; k < t->first_piece + t->piece_count && status == SL_OK; k++) {
    if (needs[k - t->first_piece] != c->manifest.pieces[k].held) continue;
    claims[k] = 1;
    status = add_claim(c->held, role, k);
  }
  free(needs);
  return status;
}

static void release(struct sl_held *held) {
  sl_read_ahead_stop(held->ahead);
  for (int i = 0; i < TIMES; i++) free(held->turns[i]);
  free(held->order);
  free(held->begun);
  *held = (struct sl_held){.tensor = -1, .seconds = held->seconds};
}

static enum sl_status make_turns(const struct sl_checkpoint *c) {
  const size_t pieces = (size_t)c->manifest.piece_count;
  release(c->held);
  SL_TRY(sl_calloc(&c->held->begun, (size_t)c->manifest.tensor_count, 1));
  for (int i = 0; i < TIMES; i++) {
    SL_TRY(sl_malloc(&c->held->turns[i], pieces, sizeof *c->held->turns[i]));
    memset(c->held->turns[i], 0xff, pieces * sizeof *c->held->turns[i]);
  }
  return SL_OK;
}

enum sl_status sl_held_claims(const struct sl_checkpoint *checkpoint, const struct sl_job *job, int rank,
                              unsigned char *claims) {
  static const enum sl_role roles[] = {SL_ROLE_PARAM,   SL_ROLE_MASTER,    SL_ROLE_MOMENT1,
                                       SL_ROLE_MOMENT2, SL_ROLE_FP8_SCALE, SL_ROLE_FP8_HISTORY};
  const struct sl_class *c = &job->classes[sl_job_class_of(job, rank)];
  memset(claims, 0, (size_t)checkpoint->manifest.piece_count);
  SL_TRY(make_turns(checkpoint));
  for (size_t r = 0; r < sizeof roles / sizeof *roles; r++) {
    if (c->role[roles[r]].form == SL_FORM_ABSENT) continue;
    for (int i = 0; i < job->plan->pp_ranks[c->pp_rank].tensor_count; i++)
      SL_TRY(claim_state(checkpoint, job, rank, roles[r], i, claims));
  }
  return SL_OK;
}

/* ---- reading ---- */

enum sl_status sl_held_begin(const struct sl_checkpoint *checkpoint, const int32_t *claimants) {
  struct sl_held *held = checkpoint->held;
  for (size_t i = 0; i < held->count; i++) held->order[i].alone = claimants[held->order[i].piece] == 1;
  return sl_read_ahead_start(&held->ahead, checkpoint, held->order, held->count);
}

/* Programs and restores go through the states in order, a tensor at a time; a tensor that returns after others is being
 * requested for the second time. */
static bool is_again(struct sl_held *held, int tensor) {
  if (held->tensor != tensor) held->again = held->begun[tensor];
  held->begun[tensor] = 1;
  held->tensor = tensor;
  return held->again;
}

enum sl_status sl_held_read(const struct sl_checkpoint *checkpoint, const struct sl_manifest_piece *piece,
                            int64_t first, int64_t count, float *out, bool *read) {
  struct sl_held *held = checkpoint->held;
  float *values = NULL;
  *read = false;
  if (held == NULL || held->ahead == NULL) return SL_OK;
  const int64_t turn = held->turns[is_again(held, piece->tensor)][piece - checkpoint->manifest.pieces];
  if (turn >= 0) SL_TRY(sl_read_ahead_take(held->ahead, (size_t)turn, &values));
  if (values == NULL) return SL_OK;
  memcpy(out, values + first, (size_t)count * sizeof *out);
  *read = true;
  return SL_OK;
}

enum sl_status sl_held_end(const struct sl_checkpoint *checkpoint) {
  struct sl_held *held = checkpoint->held;
  const double start = sl_machine_clock();
  enum sl_status status = held->status;
  if (status != SL_OK) (void)sl_error_relay(status, held->message);
  if (status == SL_OK && held->ahead != NULL) status = sl_read_ahead_finish(held->ahead);
  sl_read_ahead_stop(held->ahead);
  held->ahead = NULL;
  sl_held_spent(checkpoint, start);
  return status;
}

void sl_held_free(struct sl_held *held) {
  if (held == NULL) return;
  release(held);
  free(held);
}

bool sl_held_failed(const struct sl_checkpoint *checkpoint) {
  return checkpoint->held->status != SL_OK;
}

void sl_held_fail(const struct sl_checkpoint *checkpoint, enum sl_status status) {
  struct sl_held *held = checkpoint->held;
  held->status = status;
  snprintf(held->message, sizeof held->message, "%s", sl_error_message());
  sl_error_clear();
}

double sl_held_seconds(const struct sl_checkpoint *checkpoint) {
  return checkpoint->held->seconds;
}

void sl_held_spent(const struct sl_checkpoint *checkpoint, double start) {
  checkpoint->held->seconds += sl_machine_clock() - start;
}

enum sl_status sl_held_open(struct sl_held **out) {
  SL_TRY(sl_calloc(out, 1, sizeof **out));
  (*out)->tensor = -1;
  return SL_OK;
}
