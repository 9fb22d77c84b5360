/* See held.h. */
#include "core/checkpoint/held.h"

#include "core/base/machine.h"
#include "core/checkpoint/pieces.h"
#include "core/io/direct.h"
#include "core/program/locate.h"

#include <stdlib.h>
#include <string.h>

enum { FEW = 2 }; /* ranks that read a piece each by itself */

struct sl_held {
  unsigned char *mine, *seen; /* per piece: claimed; read and verified */
  int32_t *claimants;
  char *room;  /* of one piece, and of the blocks that it begins and ends in */
  float *here; /* the elements of `piece`, in it */
  int piece;   /* -1: none */
  double seconds;
  enum sl_status status; /* of the weights */
  char message[1024];
};

/* ---- claims ---- */

/* Elements of each piece of `t` that lie in [first, first + count) of the local tensor of `member`, under the plan's own cut. */
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

static enum sl_status claim_state(const struct sl_checkpoint *c, const struct sl_job *job, int rank, enum sl_role role,
                                  int placed, unsigned char *claims) {
  const struct sl_coord at = sl_plan_coord(job->plan, rank);
  const struct sl_tensor *tensor = &job->plan->model->tensors[job->plan->pp_ranks[at.pp].tensors[placed].tensor];
  const struct sl_located where = sl_job_locate(job, rank, role, placed);
  const struct sl_manifest_tensor *t =
      sl_manifest_find(&c->manifest, tensor->name, role == SL_ROLE_MASTER ? SL_ROLE_PARAM : role);
  const struct sl_cut cut = sl_cut_of(job->plan, tensor);
  int64_t *needs;
  if (t == NULL || where.count == 0) return SL_OK;
  SL_TRY(sl_calloc(&needs, (size_t)t->piece_count, sizeof *needs));
  count_needs(c, t, &cut, cut.members > 1 ? at.tp : 0, where.first, where.count, needs);
  for (int k = 0; k < t->piece_count; k++)
    claims[t->first_piece + k] |= needs[k] == c->manifest.pieces[t->first_piece + k].held;
  free(needs);
  return SL_OK;
}

enum sl_status sl_held_claims(const struct sl_checkpoint *checkpoint, const struct sl_job *job, int rank,
                              unsigned char *claims) {
  static const enum sl_role roles[] = {SL_ROLE_PARAM, SL_ROLE_MASTER, SL_ROLE_MOMENT1, SL_ROLE_MOMENT2};
  const struct sl_class *c = &job->classes[sl_job_class_of(job, rank)];
  memset(claims, 0, (size_t)checkpoint->manifest.piece_count);
  for (size_t r = 0; r < sizeof roles / sizeof *roles; r++) {
    if (c->role[roles[r]].form == SL_FORM_ABSENT) continue;
    for (int i = 0; i < job->plan->pp_ranks[c->pp_rank].tensor_count; i++)
      SL_TRY(claim_state(checkpoint, job, rank, roles[r], i, claims));
  }
  return SL_OK;
}

/* ---- reading ---- */

static void release(struct sl_held *held) {
  free(held->mine);
  free(held->seen);
  free(held->claimants);
  free(held->room);
  *held = (struct sl_held){.piece = -1, .seconds = held->seconds};
}

enum sl_status sl_held_begin(const struct sl_checkpoint *checkpoint, const unsigned char *mine,
                             const int32_t *claimants) {
  struct sl_held *held = checkpoint->held;
  const size_t count = (size_t)checkpoint->manifest.piece_count;
  release(held);
  SL_TRY(sl_calloc(&held->mine, count, 1));
  SL_TRY(sl_calloc(&held->seen, count, 1));
  SL_TRY(sl_calloc(&held->claimants, count, sizeof *held->claimants));
  memcpy(held->mine, mine, count);
  memcpy(held->claimants, claimants, count * sizeof *claimants);
  return SL_OK;
}

static enum sl_status hold(const struct sl_checkpoint *c, int piece) {
  struct sl_held *held = c->held;
  const struct sl_manifest_piece *p = &c->manifest.pieces[piece];
  held->piece = -1;
  if (held->room == NULL &&
      posix_memalign((void **)&held->room, SL_MACHINE_PAGE, sl_direct_room(SL_PIECE_ELEMENTS * sizeof(float))) != 0) {
    held->room = NULL;
    return sl_fail(SL_ERR_MEMORY, "%s: no memory for a piece of it", c->path);
  }
  /* What many ranks read comes to them by the cache, from the disk once; a copy through it takes longer than reading twice. */
  SL_TRY(sl_checkpoint_verify_piece(c, p, held->claimants[piece] <= FEW, held->room, &held->here));
  held->seen[piece] = 1;
  held->piece = piece;
  return SL_OK;
}

enum sl_status sl_held_read(const struct sl_checkpoint *checkpoint, const struct sl_manifest_piece *piece,
                            int64_t first, int64_t count, float *out, bool *read) {
  struct sl_held *held = checkpoint->held;
  const int index = (int)(piece - checkpoint->manifest.pieces);
  *read = false;
  if (held == NULL || held->mine == NULL || !held->mine[index]) return SL_OK;
  if (held->piece != index && held->seen[index]) return SL_OK;
  if (held->piece != index) SL_TRY(hold(checkpoint, index));
  memcpy(out, held->here + first, (size_t)count * sizeof *out);
  *read = true;
  return SL_OK;
}

static void forget_room(struct sl_held *held) {
  free(held->room);
  held->room = NULL;
  held->piece = -1;
}

enum sl_status sl_held_end(const struct sl_checkpoint *checkpoint) {
  struct sl_held *held = checkpoint->held;
  const double start = sl_machine_clock();
  enum sl_status status = held->status;
  if (status != SL_OK) (void)sl_error_relay(status, held->message);
  for (int i = 0; held->mine != NULL && i < checkpoint->manifest.piece_count && status == SL_OK; i++)
    if (held->mine[i] && !held->seen[i]) status = hold(checkpoint, i);
  forget_room(held);
  sl_held_spent(checkpoint, start);
  return status;
}

void sl_held_free(struct sl_held *held) {
  if (held == NULL) return;
  release(held);
  free(held);
}

/* ---- weights ---- */

static enum sl_status read_weight(void *context, const char *tensor, int64_t first, int64_t count, float *out) {
  const struct sl_checkpoint *c = context;
  struct sl_held *held = c->held;
  const struct sl_manifest_tensor *from = sl_manifest_find(&c->manifest, tensor, SL_ROLE_PARAM);
  if (from == NULL) return sl_fail(SL_ERR_INTERNAL, "%s: has no weight of tensor %s", c->path, tensor);
  if (held->status == SL_OK) {
    const double start = sl_machine_clock();
    held->status = sl_checkpoint_read(c, from, first, count, out);
    sl_held_spent(c, start);
    if (held->status == SL_OK) return SL_OK;
    snprintf(held->message, sizeof held->message, "%s", sl_error_message());
    sl_error_clear();
  }
  memset(out, 0, (size_t)count * sizeof *out);
  return SL_OK;
}

struct sl_weight_source sl_held_source(const struct sl_checkpoint *checkpoint) {
  return (struct sl_weight_source){.read = read_weight, .context = (void *)(uintptr_t)checkpoint};
}

double sl_held_seconds(const struct sl_checkpoint *checkpoint) {
  return checkpoint->held->seconds;
}

void sl_held_spent(const struct sl_checkpoint *checkpoint, double start) {
  checkpoint->held->seconds += sl_machine_clock() - start;
}

enum sl_status sl_held_open(struct sl_held **out) {
  SL_TRY(sl_calloc(out, 1, sizeof **out));
  (*out)->piece = -1;
  return SL_OK;
}
