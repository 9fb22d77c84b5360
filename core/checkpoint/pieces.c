/* See pieces.h. */
#include "core/checkpoint/pieces.h"

#include "core/program/locate.h"

#include <stdlib.h>
#include <string.h>

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
  case SL_ROLE_FP8_SCALE:
    return "fp8_scale";
  case SL_ROLE_FP8_HISTORY:
    return "fp8_amax_history";
  default:
    return NULL;
  }
}

const enum sl_role sl_checkpoint_roles[SL_CHECKPOINT_STATES] = {SL_ROLE_PARAM, SL_ROLE_MOMENT1, SL_ROLE_MOMENT2,
                                                                SL_ROLE_FP8_SCALE, SL_ROLE_FP8_HISTORY};

int sl_checkpoint_state_named(const char *name) {
  for (int i = 0; i < SL_CHECKPOINT_STATES; i++)
    if (strcmp(sl_checkpoint_role_name(sl_checkpoint_roles[i]), name) == 0) return i;
  return -1;
}

struct sl_checkpoint_state sl_checkpoint_state_of(const struct sl_plan *plan, int tensor, enum sl_role role) {
  const struct sl_tensor *t = &plan->model->tensors[tensor];
  if (role < SL_ROLE_FP8_SCALE)
    return (struct sl_checkpoint_state){t->n_dim, {t->shape[0], t->shape[1]}, sl_cut_of(plan, t)};
  const int64_t columns = role == SL_ROLE_FP8_SCALE ? 2 : plan->config->sl.fp8_amax_history_len;
  return (struct sl_checkpoint_state){2, {SL_FP8_FACTORS, columns}, sl_cut_none(SL_FP8_FACTORS * columns)};
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

/* A rank's share of a placed tensor's state: elements [at.first, +at.count) of the local tensor of `member`. */
struct share {
  struct sl_located at; /* count 0: nothing */
  struct sl_cut cut;
  int tensor, member;
};

static enum sl_status find_share(struct share *out, const struct sl_job *job, const struct sl_standing *rank,
                                 enum sl_role role, int placed) {
  const struct sl_plan *plan = job->plan;
  *out = (struct share){.at = sl_job_locate_in(job, rank, role, placed),
                        .tensor = plan->pp_ranks[rank->at.pp].tensors[placed].tensor};
  if (out->at.replica < 0) out->at.count = 0;
  if (out->at.count == 0) return SL_OK;
  const struct sl_tensor *t = &plan->model->tensors[out->tensor];
  out->cut = sl_checkpoint_state_of(plan, out->tensor, role).cut;
  out->member = out->cut.members > 1 ? rank->at.tp : 0;
  const struct sl_class *c = rank->rank_class;
  if (c->buffers[out->at.buffer].dtype != SL_F32)
    return sl_fail(SL_ERR_INTERNAL, "checkpoint: buffer %s is %s; expected fp32", c->buffers[out->at.buffer].name,
                   sl_dtype_name(c->buffers[out->at.buffer].dtype));
  if (out->cut.row < t->numel && out->cut.row < out->cut.width * out->cut.members)
    return sl_fail(SL_ERR_INTERNAL, "checkpoint: tensor %s has padding between its rows", t->name);
  take_share(&out->at);
  return SL_OK;
}

/* Of elements [first, first + count) of the share's local tensor, how many are not padding. */
static int64_t held(const struct share *s, int64_t first, int64_t count) {
  return sl_cut_held(&s->cut, s->member, first + count) - sl_cut_held(&s->cut, s->member, first);
}

static enum sl_status add_state(struct sl_checkpoint_pieces *pieces, const struct sl_job *job,
                                const struct sl_standing *rank, enum sl_role role, int placed) {
  struct share s;
  SL_TRY(find_share(&s, job, rank, role, placed));
  for (int64_t done = 0; done < s.at.count; done += SL_PIECE_ELEMENTS) {
    const int64_t left = s.at.count - done, count = left < SL_PIECE_ELEMENTS ? left : SL_PIECE_ELEMENTS;
    const int64_t first = s.at.first + done;
    SL_TRY(add(pieces, (struct sl_checkpoint_piece){.tensor = s.tensor,
                                                    .role = role,
                                                    .member = s.member,
                                                    .first = first,
                                                    .count = count,
                                                    .held = held(&s, first, count),
                                                    .buffer = s.at.buffer,
                                                    .offset = s.at.offset + done * SL_CHECKPOINT_ELEMENT}));
  }
  return SL_OK;
}

/* What is saved of tensors: weights and whatever else the class has. Returns how many. */
static int saved_roles(const struct sl_class *c, enum sl_role roles[SL_CHECKPOINT_STATES]) {
  int count = 0;
  for (int i = 0; i < SL_CHECKPOINT_STATES; i++) {
    const enum sl_role role = i == 0 ? sl_checkpoint_weight(c) : sl_checkpoint_roles[i];
    if (c->role[role].form != SL_FORM_ABSENT) roles[count++] = role;
  }
  return count;
}

enum sl_status sl_checkpoint_pieces(struct sl_checkpoint_pieces *pieces, const struct sl_job *job, int rank) {
  const struct sl_standing standing = sl_job_stand(job, rank);
  const struct sl_class *c = standing.rank_class;
  enum sl_role roles[SL_CHECKPOINT_STATES];
  enum sl_status status;
  *pieces = (struct sl_checkpoint_pieces){0};
  const int count = saved_roles(c, roles);
  for (int r = 0; r < count; r++) {
    for (int i = 0; i < job->plan->pp_ranks[c->pp_rank].tensor_count; i++)
      SL_GO_FAIL(add_state(pieces, job, &standing, roles[r], i));
  }
  return SL_OK;
fail:
  sl_checkpoint_pieces_free(pieces);
  return status;
}

enum sl_status sl_checkpoint_bytes(int64_t *bytes, const struct sl_job *job, int rank) {
  const struct sl_standing standing = sl_job_stand(job, rank);
  const struct sl_class *c = standing.rank_class;
  enum sl_role roles[SL_CHECKPOINT_STATES];
  int64_t of_role = 0;
  *bytes = 0;
  const int count = saved_roles(c, roles);
  for (int r = 0; r < count; r++) {
    const bool alike = r > 0 && roles[r] < SL_ROLE_FP8_SCALE &&
                       c->role[roles[r]].form == c->role[roles[r - 1]].form; /* of the same bytes, then */
    if (!alike) of_role = 0;
    for (int i = 0; i < job->plan->pp_ranks[c->pp_rank].tensor_count && !alike; i++) {
      struct share s;
      SL_TRY(find_share(&s, job, &standing, roles[r], i));
      if (s.at.count > 0) of_role += held(&s, s.at.first, s.at.count) * SL_CHECKPOINT_ELEMENT;
    }
    *bytes += of_role;
  }
  return SL_OK;
}

void sl_checkpoint_pieces_free(struct sl_checkpoint_pieces *pieces) {
  free(pieces->items);
  *pieces = (struct sl_checkpoint_pieces){0};
}
