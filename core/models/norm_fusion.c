/* Lets a norm take in the element-wise op of the residual stream next to it. That saves a launch, and the stream is
 * read once less.
 *
 *   residual x = y + dropout(branch);  norm x -> out       ->  residual+norm  x and out, one row at a time
 *   norm_bwd -> dx;  dropout dx -> dbranch                 ->  norm_bwd+dropout  also writes dbranch
 *
 * As epilogue.h this works on the drafts of a micro-batch, and gathers, buckets and accumulation are derived later from
 * the operands of the fused ops. Only neighbours are fused, and every number keeps its bits. What a norm makes beside
 * its own results takes no more memory: dbranch overwrites the gradient that the norm has read, where nobody else needs
 * that. A mask that is stored keeps its op apart. */
#include "core/models/norm_fusion.h"

#include "core/op/operands.h"

#include <string.h>

static const struct sl_operand *operand(const struct sl_draft *d, enum sl_at name) {
  return &d->operand[sl_op_at(&d->op, name)];
}

/* Both are the same whole buffer of this micro-batch. */
static bool same(const struct sl_operand *x, const struct sl_operand *y) {
  const struct sl_slice *s = &x->slice, *t = &y->slice;
  return x->buffer >= 0 && x->buffer == y->buffer && s->slot == t->slot && s->offset == t->offset &&
         s->bytes == t->bytes && s->shard_stride == t->shard_stride;
}

/* Do both work on the same rows, at the same time and place? */
static bool alongside(const struct sl_draft *d, const struct sl_draft *e) {
  return d->op.lane == e->op.lane && d->op.dtype == e->op.dtype && d->op.phase == e->op.phase &&
         d->op.dim[0] == e->op.dim[0] && d->op.dim[1] == e->op.dim[1];
}

static bool takes_residual(const struct sl_draft *norm, const struct sl_draft *before) {
  if (norm->op.kind != SL_OP_LAYERNORM_FWD && norm->op.kind != SL_OP_RMSNORM_FWD) return false;
  if (before->op.kind != SL_OP_RESIDUAL_FWD || before->op.flags & SL_OP_MASK) return false;
  return alongside(norm, before) && same(operand(before, SL_AT_OUT), operand(norm, SL_AT_X));
}

/* In a split backward only the half that makes dx is in the same half as the dropout; where a norm is whole, there are
 * no halves. */
static bool takes_dropout(const struct sl_draft *norm, const struct sl_draft *after) {
  if (norm->op.kind != SL_OP_LAYERNORM_BWD && norm->op.kind != SL_OP_RMSNORM_BWD) return false;
  if (after->op.kind != SL_OP_DROPOUT || after->op.flags & SL_OP_MASK || norm->op.flags & SL_OP_WEIGHT_GRAD)
    return false;
  return alongside(norm, after) && same(operand(norm, SL_AT_DX), operand(after, SL_AT_X));
}

static void take_dropout_of(struct sl_op *norm, const struct sl_op *from) {
  norm->flags |= SL_OP_RESIDUAL | (from->flags & SL_OP_BIAS);
  norm->dropout = from->dropout;
  norm->stream = from->stream;
  norm->place_group = from->place_group;
}

/* residual: r residual, r x, [r bias], w out; norm: r x, and what follows it */
static struct sl_draft with_residual(const struct sl_draft *norm, const struct sl_draft *residual) {
  struct sl_draft out = *residual;
  const size_t rest = (size_t)norm->operand_count - 1;
  memcpy(&out.operand[out.operand_count], &norm->operand[1], rest * sizeof *norm->operand);
  out.operand_count += (int)rest;
  out.op = norm->op;
  take_dropout_of(&out.op, &residual->op);
  return out;
}

static struct sl_draft with_dropout(const struct sl_draft *norm, const struct sl_draft *dropout) {
  struct sl_draft out = *norm;
  take_dropout_of(&out.op, &dropout->op);
  const int at = sl_op_at(&out.op, SL_AT_DBRANCH);
  memmove(&out.operand[at + 1], &out.operand[at], (size_t)(out.operand_count - at) * sizeof *out.operand);
  out.operand[at] = *operand(dropout, SL_AT_OUT);
  out.operand_count++;
  return out;
}

/* Do the ops from `at` on to the end of block `layer` touch this buffer? Both gradients belong to that block, or to the
 * one after it. */
static bool is_used(const struct sl_drafts *drafts, size_t at, int layer, int32_t buffer) {
  for (; at < drafts->count; at++) {
    const struct sl_draft *d = &drafts->items[at];
    if (d->op.layer >= 0 && d->op.layer < layer) return false;
    for (int i = 0; i < d->operand_count; i++)
      if (d->operand[i].buffer == buffer) return true;
  }
  return false;
}

static void rename_buffer(struct sl_draft *d, int32_t from, int32_t to) {
  for (int i = 0; i < d->operand_count; i++)
    if (d->operand[i].buffer == from) d->operand[i].buffer = d->operand[i].slice.buffer = to;
}

/* dbranch overwrites dout; `at`: the ops behind the dropout, which is of block `layer`. */
static void overwrite(struct sl_drafts *drafts, size_t at, int layer, struct sl_draft *norm) {
  struct sl_operand dout = *operand(norm, SL_AT_DOUT);
  const int32_t from = operand(norm, SL_AT_DBRANCH)->buffer, to = dout.buffer;
  dout.buffer = from;
  if (to < 0 || to == from || !same(&dout, operand(norm, SL_AT_DBRANCH)) || is_used(drafts, at, layer, to)) return;
  rename_buffer(norm, from, to);
  for (; at < drafts->count && !(drafts->items[at].op.layer >= 0 && drafts->items[at].op.layer < layer); at++)
    rename_buffer(&drafts->items[at], from, to);
}

static void fuse_all(struct sl_drafts *drafts) {
  size_t done = 0;
  for (size_t i = 0; i < drafts->count; i++, done++) {
    const struct sl_draft *d = &drafts->items[i], *next = i + 1 < drafts->count ? d + 1 : NULL;
    struct sl_draft fused = *d;
    if (next != NULL && takes_residual(next, d)) {
      fused = with_residual(next, d);
      i++;
    } else if (next != NULL && takes_dropout(d, next)) {
      fused = with_dropout(d, next);
      overwrite(drafts, i + 2, next->op.layer, &fused);
      i++;
    }
    drafts->items[done] = fused;
  }
  drafts->count = done;
}

void sl_models_fuse_norms(struct sl_lowering *l) {
  if (!l->plan->fuse_epilogues) return;
  fuse_all(&l->stage->forward);
  fuse_all(&l->stage->backward);
}
