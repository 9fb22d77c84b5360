/* Pipeline messages that are sharded over the tp group; see boundary.h. */
#include "core/models/boundary.h"

#include "core/models/regions.h"

/* A stage that only passes its input on leaves it in parts. */
static bool hands_on(const struct sl_transformer *g) {
  return g->stage->layer_count == 0 && !g->stage->head && !g->stage->embedding;
}

static bool scatters(const struct sl_transformer *g) {
  return g->l->plan->scatter_gather && sl_model_reads_tokens(g->l->plan->model);
}

/* Elements of a message, the same on both sides of the stage. */
static int64_t message(const struct sl_transformer *g) {
  return sl_build_stream_count(g->l->plan, g->stage->first_layer);
}

/* This member's part of the whole stream. */
static struct sl_operand own_part(const struct sl_transformer *g, struct sl_operand whole) {
  whole.slice.access = SL_READ;
  whole.slice.bytes /= g->tp;
  whole.slice.shard_stride = whole.slice.bytes;
  whole.place_group = SL_GROUP_TP;
  return whole;
}

static enum sl_status gather(struct sl_transformer *g, struct sl_operand part, struct sl_operand whole) {
  const struct sl_op op = sl_regions_call(g, SL_OP_ALL_GATHER, g->stage->first_layer, g->s * g->c);
  return SL_BUILD_DRAFT(g->drafts, op, part, whole);
}

static enum sl_status scatter(struct sl_transformer *g, struct sl_operand whole, struct sl_operand part) {
  struct sl_op op = sl_transformer_rows_op(g, SL_OP_COPY, g->stage->first_layer, -1, message(g), 0);
  op.place_group = SL_GROUP_TP;
  return SL_BUILD_DRAFT(g->drafts, op, own_part(g, whole), part);
}

enum sl_status sl_boundary_take(struct sl_transformer *g, struct sl_operand *x) {
  int32_t whole;
  *x = sl_build_stream(g->l, SL_SLOT_IN, SL_READ, message(g));
  if (!scatters(g) || hands_on(g)) return SL_OK;
  SL_TRY(sl_transformer_buffer(g, &whole, g->l->dtype, g->s * g->c, g->stage->first_layer, "x_in", true));
  SL_TRY(gather(g, *x, sl_build_write(g->l, whole)));
  *x = sl_build_read(g->l, whole);
  return SL_OK;
}

enum sl_status sl_boundary_output(struct sl_transformer *g, int layer, struct sl_operand *out) {
  int32_t whole;
  *out = sl_build_stream(g->l, SL_SLOT_OUT, SL_WRITE, sl_build_stream_count(g->l->plan, layer + 1));
  if (!scatters(g)) return SL_OK;
  SL_TRY(sl_transformer_temporary(g, &whole, g->s * g->c, layer, "x_out"));
  *out = sl_build_write(g->l, whole);
  return SL_OK;
}

enum sl_status sl_boundary_give(struct sl_transformer *g, struct sl_operand x) {
  const struct sl_operand out = sl_build_stream(g->l, SL_SLOT_OUT, SL_WRITE, message(g));
  if (scatters(g) && !hands_on(g)) return scatter(g, x, out);
  return g->stage->layer_count == 0 ? sl_transformer_copy(g, g->stage->first_layer, x, out, message(g)) : SL_OK;
}

enum sl_status sl_boundary_take_gradient(struct sl_transformer *g) {
  int32_t whole;
  g->dx = sl_build_stream(g->l, SL_SLOT_DX, SL_READ, message(g));
  if (!scatters(g) || hands_on(g)) return SL_OK;
  SL_TRY(sl_transformer_temporary(g, &whole, g->s * g->c, g->stage->first_layer, "dx_in"));
  if (!g->stage->head) SL_TRY(gather(g, g->dx, sl_build_write(g->l, whole)));
  g->dx = sl_build_read(g->l, whole);
  return SL_OK;
}

enum sl_status sl_boundary_give_gradient(struct sl_transformer *g) {
  if (!scatters(g) || hands_on(g) || g->stage->embedding) return SL_OK;
  return scatter(g, g->dx, sl_build_stream(g->l, SL_SLOT_DX, SL_WRITE, message(g)));
}
