/* Rows of an embedding's gradient; see sparse.h. DeepSpeed gathers, once a step, indices and values of the rows that a
 * rank's tokens touched: each row once, padded to the most that any rank has (runtime/engine.py, sparse_allreduce). How
 * many that are depends on the data. Here one row per token is sent after every micro-batch, as autograd computes them.
 * The amount is thus known in advance, and is the most that DeepSpeed sends for the table of tokens. The table of
 * positions is updated from the same transfer. */
#include "core/lower/sparse.h"

#include "core/base/checked.h"
#include "core/lower/lower.h"
#include "core/op/operands.h"

/* The tensors of the embedding come before those of the blocks. */
bool sl_sparse_holds(const struct sl_lowering *l, int placed) {
  return l->plan->strategy.sparse_embedding && l->plan->model->tensors[l->pp_rank->tensors[placed].tensor].layer < 0;
}

static enum sl_status buffer(struct sl_lowering *l, enum sl_dtype dtype, int64_t count, const char *name,
                             int32_t *out) {
  return sl_build_buffer(l, out, SL_SCOPE_MICRO, SL_CATEGORY_COMMUNICATION, dtype, count, "embedding.%s", name);
}

/* Gathers `own`, `count` elements, of all ranks in rank order. */
static enum sl_status gather(struct sl_lowering *l, struct sl_program *p, enum sl_group group, enum sl_dtype dtype,
                             struct sl_operand own, int32_t all) {
  const int64_t count = l->rank_class->buffers[all].bytes / sl_dtype_bytes(dtype);
  const struct sl_op op =
      sl_zero_collective(l, SL_OP_ALL_GATHER, group, dtype, SL_PHASE_BACKWARD, SL_PAYLOAD_GRADIENT, count);
  return SL_BUILD_EMIT(p, op, sl_build_as(own, SL_READ), sl_build_write(l, all));
}

/* Dropped elements have no gradient: they are zeroed in the rows before these are sent. */
static enum sl_status undrop(struct sl_lowering *l, struct sl_program *p, struct sl_draft *d, struct sl_operand *rows) {
  const int64_t count = sl_product(d->op.dim[0], d->op.dim[1]);
  const int mask = sl_op_at(&d->op, SL_AT_MASK);
  struct sl_op op = d->op;
  int32_t dropped;
  if (d->op.dropout == 0) return SL_OK;
  op.kind = SL_OP_DROPOUT;
  op.flags &= SL_OP_MASK;
  op.dim[0] = count, op.dim[1] = d->op.dim[2], op.dim[2] = op.dim[3] = op.dim[4] = 0;
  SL_TRY(buffer(l, l->dtype, sl_product(count, op.dim[1]), "undropped", &dropped));
  if (mask >= 0)
    SL_TRY(SL_BUILD_EMIT(p, op, *rows, sl_build_write(l, dropped), d->operand[mask]));
  else
    SL_TRY(SL_BUILD_EMIT(p, op, *rows, sl_build_write(l, dropped)));
  *rows = sl_build_read(l, dropped);
  d->operand_count -= mask >= 0; /* the mask is the last */
  d->op.flags &= ~(unsigned)SL_OP_MASK;
  d->op.dropout = 0;
  return SL_OK;
}

/* Gathers the rows of all ranks, converted to the communicated type for the transfer. */
static enum sl_status gather_rows(struct sl_lowering *l, struct sl_program *p, enum sl_group group, int64_t ranks,
                                  struct sl_operand own, int32_t *all) {
  const int64_t count = own.slice.bytes / sl_dtype_bytes(l->dtype);
  int32_t sent, arrived;
  SL_TRY(buffer(l, l->dtype, sl_product(count, ranks), "rows", all));
  if (l->wire == l->dtype) return gather(l, p, group, l->dtype, own, *all);
  SL_TRY(buffer(l, l->wire, count, "rows.sent", &sent));
  SL_TRY(buffer(l, l->wire, sl_product(count, ranks), "rows.arrived", &arrived));
  SL_TRY(sl_zero_convert(l, p, own, sl_build_write(l, sent), count, SL_PHASE_BACKWARD, false));
  SL_TRY(gather(l, p, group, l->wire, sl_build_read(l, sent), arrived));
  return sl_zero_convert(l, p, sl_build_read(l, arrived), sl_build_write(l, *all), sl_product(count, ranks),
                         SL_PHASE_BACKWARD, false);
}

enum sl_status sl_sparse_gather(struct sl_lowering *l, struct sl_program *p, struct sl_draft *d) {
  if (d->op.kind != SL_OP_EMBED_BWD || !l->plan->strategy.sparse_embedding) return SL_OK;
  const struct sl_param_group *group = &l->pp_rank->layouts[l->pp_rank->tensors[d->op.tensor].group].group;
  const int tokens = sl_op_at(&d->op, SL_AT_TOKENS), dout = sl_op_at(&d->op, SL_AT_DOUT);
  int32_t all_tokens, all_rows;
  SL_TRY(undrop(l, p, d, &d->operand[dout]));
  SL_TRY(buffer(l, SL_I32, sl_product(sl_product(d->op.dim[0], d->op.dim[1]), group->ranks), "tokens", &all_tokens));
  SL_TRY(gather(l, p, group->sum, SL_I32, d->operand[tokens], all_tokens));
  SL_TRY(gather_rows(l, p, group->sum, group->ranks, d->operand[dout], &all_rows));
  d->operand[tokens] = sl_build_read(l, all_tokens);
  d->operand[dout] = sl_build_read(l, all_rows);
  d->op.dim[0] = sl_product(d->op.dim[0], group->ranks);
  return SL_OK;
}
