/* Passes of casts; see casts.h. */
#include "core/models/casts.h"

#include "core/op/operands.h"
#include "core/plan/kernels.h"

#include <stdlib.h>

static enum sl_fp8_casts casts_of(const struct sl_lowering *l) {
  return sl_kernel_set(l->plan->config->sl.kernels)->fp8_casts;
}

bool sl_casts_layer(const struct sl_lowering *l, int layer) {
  const struct sl_config *config = l->plan->config;
  const bool predicted = casts_of(l) != SL_CASTS_NONE && casts_of(l) != SL_CASTS_SHARDLAB;
  return sl_config_product_dtype(config) == SL_F8 && predicted && layer >= 0 && layer < l->plan->model->n_layer;
}

static bool by_row(const struct sl_lowering *l) {
  return casts_of(l) == SL_CASTS_TORCHAO && l->plan->config->sl.fp8_recipe == SL_FP8_ROWWISE;
}

bool sl_casts_gathers(const struct sl_lowering *l, int layer) {
  const bool gathers = casts_of(l) == SL_CASTS_TORCHAO || casts_of(l) == SL_CASTS_TRANSFORMER_ENGINE_CACHED;
  return sl_casts_layer(l, layer) && gathers && !by_row(l);
}

int64_t sl_casts_before_gather(const struct sl_lowering *l) {
  return casts_of(l) == SL_CASTS_TORCHAO ? 5 : 3;
}

/* Transformer Engine's casts are launched from C++, within the calls of its modules. */
static struct sl_op pass_of(const struct sl_lowering *l, enum sl_phase phase, int layer, int64_t bytes, int launches) {
  struct sl_op pass = sl_op_plain(SL_OP_PASS, SL_U8, phase);
  pass.layer = layer;
  pass.dim[0] = bytes, pass.dim[1] = launches, pass.dim[2] = casts_of(l) == SL_CASTS_TORCHAO ? 0 : launches;
  return pass;
}

enum sl_status sl_casts_make(struct sl_transformer *g, enum sl_half half, int layer, int32_t out, int64_t bytes) {
  struct sl_op pass = pass_of(g->l, g->phase, layer, bytes, 2);
  pass.flags = SL_OP_KEEPS;
  return sl_transformer_add(g, half, pass, 1, (struct sl_operand[]){sl_build_write(g->l, out)});
}

/* The role of a factor of a product. */
enum factor { INPUT, INPUT_OF_GRADIENT, GRADIENT, WEIGHT, WEIGHT_OF_GRADIENT };

/* The casts of a layer that exist already, of operands in buffers or of parameters. */
struct made {
  int32_t buffer, placed;
  int64_t offset;
  enum factor factor;
};

enum { MOST_MADE = 64 };

struct casts {
  const struct sl_lowering *l;
  struct sl_drafts out;
  struct made made[MOST_MADE];
  int count, layer;
};

static bool is_made(struct casts *c, const struct sl_operand *o, enum factor factor) {
  for (int i = 0; i < c->count; i++) {
    const struct made *m = &c->made[i];
    if (m->factor == factor && m->buffer == o->buffer && m->placed == o->placed && m->offset == o->slice.offset)
      return true;
  }
  if (c->count < MOST_MADE) c->made[c->count++] = (struct made){o->buffer, o->placed, o->slice.offset, factor};
  return false;
}

static bool in_fp8(const struct casts *c, const struct sl_operand *o) {
  return o->buffer >= 0 && c->l->rank_class->buffers[o->buffer].dtype == SL_U8;
}

/* Was it written by an element-wise op just before, whose kernel also finds the maximum? */
static bool behind_elementwise(const struct casts *c, const struct sl_operand *o) {
  for (size_t end = c->out.count; end > 0 && c->out.items[end - 1].op.layer == c->layer; end--) {
    const struct sl_draft *d = &c->out.items[end - 1];
    for (int k = 0; k < d->operand_count; k++)
      if (d->operand[k].buffer == o->buffer && d->operand[k].slice.access != SL_READ)
        return sl_op_class_of(d->op.kind) == SL_CLASS_ELEMENTWISE;
  }
  return false;
}

/* Bytes per element; see casts.h. */
static int bytes_of_torchao(const struct casts *c, const struct sl_operand *o, enum factor factor) {
  const bool row = by_row(c->l), gathered = c->l->plan->strategy.shard_params && c->l->plan->shard > c->l->plan->cp;
  switch (factor) {
  case INPUT:
    return in_fp8(c, o) ? 0 : row || behind_elementwise(c, o) ? 3 : 5;
  case INPUT_OF_GRADIENT:
    return in_fp8(c, o) ? 2 : row ? 10 : 3;
  case GRADIENT:
    return in_fp8(c, o) ? 2 : row ? 13 : 8;
  case WEIGHT:
    return row ? 3 : gathered ? 0 : 5;
  case WEIGHT_OF_GRADIENT:
    break;
  }
  return row ? 10 : 2;
}

static int bytes_of(const struct casts *c, const struct sl_operand *o, enum factor factor) {
  if (casts_of(c->l) == SL_CASTS_TORCHAO) return bytes_of_torchao(c, o, factor);
  if (factor == WEIGHT && casts_of(c->l) == SL_CASTS_TRANSFORMER_ENGINE_CACHED) return 0;
  if (in_fp8(c, o)) return factor == INPUT_OF_GRADIENT || factor == GRADIENT ? 2 : 0;
  return factor == INPUT_OF_GRADIENT || factor == WEIGHT_OF_GRADIENT ? 0 : 4;
}

static enum sl_status add_cast(struct casts *c, const struct sl_draft *product, const struct sl_operand *o,
                               int64_t elements, enum factor factor) {
  const int bytes = bytes_of(c, o, factor);
  const int launches = bytes > 3 && casts_of(c->l) == SL_CASTS_TORCHAO ? 2 : 1;
  if (bytes == 0 || is_made(c, o, factor)) return SL_OK;
  SL_TRY(sl_build_draft(&c->out, pass_of(c->l, product->op.phase, product->op.layer, bytes * elements, launches), 0,
                        NULL));
  c->out.items[c->out.count - 1].half = product->half;
  return SL_OK;
}

static bool is_param(const struct sl_operand *o) {
  return o->buffer < 0 && !o->gradient;
}

static bool runs_forward(const struct casts *c, const struct sl_draft *d) {
  const bool out_in = c->l->plan->model->form.out_in;
  return is_param(&d->operand[1]) && !!(d->op.flags & SL_OP_TRANS_B) == out_in;
}

/* Casts for a product with a weight: forward, recomputed or not, or the input's gradient. */
static enum sl_status cast_with_weight(struct casts *c, const struct sl_draft *d) {
  const int64_t *dim = d->op.dim;
  const bool forward = runs_forward(c, d);
  SL_TRY(add_cast(c, d, &d->operand[0], dim[0] * dim[2], forward ? INPUT : GRADIENT));
  return add_cast(c, d, &d->operand[1], dim[1] * dim[2], forward ? WEIGHT : WEIGHT_OF_GRADIENT);
}

/* Casts for a weight's gradient. One factor is the output's gradient, already cast for the input's gradient; the other
 * is the input. */
static enum sl_status cast_of_weight(struct casts *c, const struct sl_draft *d) {
  const int64_t *dim = d->op.dim;
  SL_TRY(add_cast(c, d, &d->operand[0], dim[0] * dim[2], GRADIENT));
  return add_cast(c, d, &d->operand[1], dim[1] * dim[2], INPUT_OF_GRADIENT);
}

/* Scales a product's output by rows, which reads and writes it. */
static enum sl_status scale_output(struct casts *c, const struct sl_draft *d) {
  const int64_t elements = d->op.dim[0] * d->op.dim[1];
  if (!by_row(c->l) || runs_forward(c, d)) return SL_OK;
  SL_TRY(sl_build_draft(&c->out, pass_of(c->l, d->op.phase, d->op.layer, 4 * elements, 1), 0, NULL));
  c->out.items[c->out.count - 1].half = d->half;
  return SL_OK;
}

/* Data that is overwritten has no valid cast any more. */
static void forget_written(struct casts *c, const struct sl_draft *d) {
  for (int k = 0; k < d->operand_count; k++) {
    if (d->operand[k].buffer < 0 || d->operand[k].slice.access == SL_READ) continue;
    for (int i = c->count; i-- > 0;)
      if (c->made[i].buffer == d->operand[k].buffer) c->made[i] = c->made[--c->count];
  }
}

static enum sl_status keep(struct casts *c, const struct sl_draft *d) {
  forget_written(c, d);
  SL_TRY(sl_grow(&c->out.items, &c->out.capacity, c->out.count + 1, sizeof *c->out.items));
  c->out.items[c->out.count++] = *d;
  return SL_OK;
}

static enum sl_status add(struct casts *c, const struct sl_draft *d) {
  const bool casts = d->op.kind == SL_OP_GEMM && sl_casts_layer(c->l, d->op.layer);
  if (d->op.layer != c->layer) c->count = 0, c->layer = d->op.layer;
  if (!casts) return keep(c, d);
  SL_TRY(is_param(&d->operand[1]) ? cast_with_weight(c, d) : cast_of_weight(c, d));
  SL_TRY(keep(c, d));
  return scale_output(c, d);
}

static enum sl_status add_all(const struct sl_lowering *l, struct sl_drafts *drafts) {
  struct casts c = {.l = l, .layer = -1};
  enum sl_status status = SL_OK;
  for (size_t i = 0; i < drafts->count && status == SL_OK; i++) status = add(&c, &drafts->items[i]);
  free(drafts->items);
  *drafts = c.out;
  return status;
}

enum sl_status sl_models_add_casts(struct sl_lowering *l) {
  if (!sl_casts_layer(l, 0)) return SL_OK;
  SL_TRY(add_all(l, &l->stage->forward));
  return add_all(l, &l->stage->backward);
}
