/* See pieces.h. */
#include "core/checkpoint/pieces.h"

#include "core/program/locate.h"

#include <stdlib.h>

enum sl_role sl_checkpoint_weight(const struct sl_class *rank_class) {
  return rank_class->role[SL_ROLE_MASTER].form != SL_FORM_ABSENT ? SL_ROLE_MASTER : SL_ROLE_PARAM;
}

const char *sl_checkpoint_role_name(enum sl_role role) {
  switch (role) {
  case SL_ROLE_PARAM:
  case SL_ROLE_MASTER:
    return "weight";
  case SL_ROLE_MOMENT1:
    return "moment1";
  case SL_ROLE_MOMENT2:
    return "moment2";
  default:
    return NULL;
  }
}

/* Reduces what this replica holds to its share, which may be empty. */
static void take_share(struct sl_located *at) {
  const int64_t even = (at->count + at->replicas - 1) / at->replicas;
  const int64_t part = (even + SL_SHARE_ELEMENTS - 1) / SL_SHARE_ELEMENTS * SL_SHARE_ELEMENTS;
  const int64_t skip = at->replica * part < at->count ? at->replica * part : at->count;
  at->first += skip;
  at->offset += skip * SL_CHECKPOINT_ELEMENT;
  at->count = at->count - skip < part ? at->count - skip : part;
}

static enum sl_status add(struct sl_checkpoint_pieces *pieces, struct sl_checkpoint_piece piece) {
  if (piece.held == 0) return SL_OK; /* only padding */
  SL_TRY(sl_grow(&pieces->items, &pieces->capacity, pieces->count + 1, sizeof *pieces->items));
  pieces->items[pieces->count++] = piece;
  pieces->bytes += piece.held * SL_CHECKPOINT_ELEMENT;
  return SL_OK;
}

static enum sl_status add_state(struct sl_checkpoint_pieces *pieces, const struct sl_job *job, int rank,
                                enum sl_role role, int placed) {
  const struct sl_plan *plan = job->plan;
  const struct sl_coord at = sl_plan_coord(plan, rank);
  const int tensor = plan->pp_ranks[at.pp].tensors[placed].tensor;
  const struct sl_tensor *t = &plan->model->tensors[tensor];
  const struct sl_cut cut = sl_cut_of(plan, t);
  const int member = cut.members > 1 ? at.tp : 0;
  struct sl_located where = sl_job_locate(job, rank, role, placed);
  if (where.count == 0 || where.replica < 0) return SL_OK;
  const struct sl_class *c = &job->classes[sl_job_class_of(job, rank)];
  if (c->buffers[where.buffer].dtype != SL_F32)
    return sl_fail(SL_ERR_INTERNAL, "checkpoint: buffer %s is %s; expected fp32", c->buffers[where.buffer].name,
                   sl_dtype_name(c->buffers[where.buffer].dtype));
  if (cut.row < t->numel && cut.row < cut.width * cut.members)
    return sl_fail(SL_ERR_INTERNAL, "checkpoint: tensor %s has padding between its rows", t->name);
  take_share(&where);
  for (int64_t done = 0; done < where.count; done += SL_PIECE_ELEMENTS) {
    const int64_t left = where.count - done, count = left < SL_PIECE_ELEMENTS ? left : SL_PIECE_ELEMENTS;
    const int64_t first = where.first + done;
    SL_TRY(add(pieces, (struct sl_checkpoint_piece){.tensor = tensor,
                                                    .role = role,
                                                    .member = member,
                                                    .first = first,
                                                    .count = count,
                                                    .held = sl_cut_held(&cut, member, first + count) -
                                                            sl_cut_held(&cut, member, first),
                                                    .buffer = where.buffer,
                                                    .offset = where.offset + done * SL_CHECKPOINT_ELEMENT}));
  }
  return SL_OK;
}

enum sl_status sl_checkpoint_pieces(struct sl_checkpoint_pieces *pieces, const struct sl_job *job, int rank) {
  const struct sl_class *c = &job->classes[sl_job_class_of(job, rank)];
  const enum sl_role roles[] = {sl_checkpoint_weight(c), SL_ROLE_MOMENT1, SL_ROLE_MOMENT2};
  enum sl_status status;
  *pieces = (struct sl_checkpoint_pieces){0};
  for (size_t r = 0; r < sizeof roles / sizeof *roles; r++) {
    if (c->role[roles[r]].form == SL_FORM_ABSENT) continue;
    for (int i = 0; i < job->plan->pp_ranks[c->pp_rank].tensor_count; i++)
      SL_GO_FAIL(add_state(pieces, job, rank, roles[r], i));
  }
  return SL_OK;
fail:
  sl_checkpoint_pieces_free(pieces);
  return status;
}

void sl_checkpoint_pieces_free(struct sl_checkpoint_pieces *pieces) {
  free(pieces->items);
  *pieces = (struct sl_checkpoint_pieces){0};
}
