/* Explicit casts; see own_casts.h. One walk over the forward's drafts and one over the backward's. */
#include "core/models/own_casts.h"

#include "core/op/operands.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = SL_OP_CAST_ROWS, COLUMNS = SL_OP_CAST_COLUMNS };

/* A factor of a product: an operand, how the product reads it, and whose scale it has. */
struct factor {
  struct sl_operand of;
  int64_t rows, columns; /* of the operand as stored */
  unsigned form;         /* ROWS: as stored, COLUMNS: transposed */
  enum sl_fp8_factor role;
  int placed; /* the weight */
};

/* A cast that exists: in `buffer[0]` as stored, in `buffer[1]` transposed; -1: not. */
struct cast {
  struct sl_operand of;
  int32_t buffer[2];
  int placed; /* whose scale it has */
};

enum { MOST_CASTS = 64 };

struct walk {
  struct sl_lowering *l;
  const struct sl_drafts *from;
  struct sl_drafts out;
  struct cast made[MOST_CASTS]; /* of the current layer */
  int count, layer;
  bool forward;
  int *scaled_by; /* per placed weight: the one whose scale its input has */
  int32_t *kept;  /* per buffer that existed before: its transposed cast, kept for the backward; -1: none */
};

/* ---- products ---- */

static bool is_product(const struct sl_lowering *l, const struct sl_draft *d) {
  return d->op.kind == SL_OP_GEMM && d->op.dtype == SL_F8 && d->op.layer >= 0 && d->op.layer < l->plan->model->n_layer;
}

static bool is_param(const struct sl_operand *o) {
  return o->buffer < 0 && !o->gradient;
}

/* Weights are stored (out, in), as in torch's Linear. */
static bool out_in(const struct sl_lowering *l) {
  return !sl_model_reads_tokens(l->plan->model) || l->plan->model->form.out_in;
}

static enum sl_fp8_factor role_of(const struct sl_lowering *l, const struct sl_draft *d, int i) {
  const bool weight = !is_param(&d->operand[1]); /* its gradient is computed: (input, gradient) or the other way */
  if (weight) return (i == 0) == out_in(l) ? SL_FP8_GRADIENT : SL_FP8_INPUT;
  if (i == 1) return SL_FP8_WEIGHT;
  return !!(d->op.flags & SL_OP_TRANS_B) == out_in(l) ? SL_FP8_INPUT : SL_FP8_GRADIENT;
}

/* Factor `i` of a product, 0 or 1. */
static struct factor factor_of(const struct sl_lowering *l, const struct sl_draft *d, int i) {
  const int64_t outer = d->op.dim[i], inner = d->op.dim[2];
  const bool by_columns = i == 0 ? d->op.flags & SL_OP_TRANS_A : !(d->op.flags & SL_OP_TRANS_B);
  return (struct factor){.of = d->operand[i],
                         .rows = by_columns ? inner : outer,
                         .columns = by_columns ? outer : inner,
                         .form = by_columns ? COLUMNS : ROWS,
                         .role = role_of(l, d, i),
                         .placed = is_param(&d->operand[1]) ? d->operand[1].placed : d->operand[2].placed};
}

static bool same(const struct sl_operand *x, const struct sl_operand *y) {
  if (x->buffer != y->buffer || (x->buffer < 0 && x->placed != y->placed)) return false;
  const struct sl_slice *s = &x->slice, *t = &y->slice;
  return s->slot == t->slot && s->offset == t->offset && s->bytes == t->bytes && s->shard_stride == t->shard_stride;
}

static bool writes(const struct sl_draft *d, int32_t buffer) {
  for (int k = 0; k < d->operand_count; k++)
    if (d->operand[k].buffer == buffer && buffer >= 0 && d->operand[k].slice.access != SL_READ) return true;
  return false;
}

/* ---- what is kept ---- */

/* Are all uses of a buffer in the backward those of a factor of a weight's gradient, of all of it? */
static bool only_for_weights(const struct sl_lowering *l, int32_t buffer) {
  const struct sl_drafts *backward = &l->stage->backward;
  bool any = false;
  for (size_t i = 0; i < backward->count; i++) {
    const struct sl_draft *d = &backward->items[i];
    for (int k = 0; k < d->operand_count; k++) {
      if (d->operand[k].buffer != buffer) continue;
      if (k > 1 || !is_product(l, d) || is_param(&d->operand[1]) || role_of(l, d, k) != SL_FP8_INPUT) return false;
      if (d->operand[k].slice.bytes != l->rank_class->buffers[buffer].bytes) return false;
      any = true;
    }
  }
  return any;
}

/* Is this input's transposed cast kept in place of its 16 bits? */
static bool keeps_cast(const struct walk *w, const struct factor *f) {
  if (!w->forward || f->role != SL_FP8_INPUT || f->of.buffer < 0) return false;
  const struct sl_buffer *b = &w->l->rank_class->buffers[f->of.buffer];
  return b->slot == SL_SLOT_ACTIVATION && f->of.slice.slot == SL_SLOT_ACTIVATION && f->of.slice.bytes == b->bytes &&
         only_for_weights(w->l, f->of.buffer);
}

/* The 16 bits are then used up in the forward. */
static void let_go(struct sl_lowering *l, struct sl_drafts *forward, int32_t buffer) {
  sl_build_slots(l, buffer, SL_SLOT_IN);
  for (size_t i = 0; i < forward->count; i++)
    for (int k = 0; k < forward->items[i].operand_count; k++)
      if (forward->items[i].operand[k].buffer == buffer) forward->items[i].operand[k].slice.slot = SL_SLOT_IN;
}

/* ---- casts ---- */

static struct cast *made(struct walk *w, const struct sl_operand *o) {
  for (int i = 0; i < w->count; i++)
    if (same(&w->made[i].of, o)) return &w->made[i];
  return NULL;
}

/* In which forms the products from draft `at` on read a factor, until it is overwritten; whether one of them belongs to
 * the half of a backward that makes the input's gradient. */
static unsigned forms_from(const struct walk *w, size_t at, const struct factor *f, enum sl_half *half) {
  unsigned forms = 0;
  *half = SL_HALF_WEIGHT;
  for (; at < w->from->count && w->from->items[at].op.layer == w->layer; at++) {
    const struct sl_draft *d = &w->from->items[at];
    for (int i = 0; i < 2 && is_product(w->l, d); i++) {
      const struct factor other = factor_of(w->l, d, i);
      if (!same(&other.of, &f->of)) continue;
      forms |= other.form;
      if (d->half == SL_HALF_INPUT) *half = SL_HALF_INPUT;
    }
    if (writes(d, f->of.buffer)) break;
  }
  return forms;
}

static const char *name_of(const struct sl_lowering *l, const struct sl_operand *o) {
  if (o->buffer >= 0) return l->rank_class->buffers[o->buffer].name;
  return l->plan->model->tensors[l->pp_rank->tensors[o->placed].tensor].name;
}

/* A buffer for a cast in one form. */
static enum sl_status buffer(struct walk *w, const struct factor *f, unsigned form, bool kept, int32_t *out) {
  struct sl_lowering *l = w->l;
  char name[56]; /* room for the ending */
  const enum sl_dtype type =
      f->role == SL_FP8_GRADIENT && l->plan->config->sl.fp8_format == SL_FP8_HYBRID ? SL_E5M2 : SL_E4M3;
  snprintf(name, sizeof name, "%.55s", name_of(l, &f->of));
  SL_TRY(sl_build_buffer(l, out, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, type, f->rows * f->columns, "%s.%s", name,
                         form == ROWS ? "fp8" : "fp8.t"));
  if (kept) sl_build_slots(l, *out, SL_SLOT_ACTIVATION);
  if (!w->forward && l->stage->split) sl_build_slots(l, *out, SL_SLOT_WEIGHT);
  return SL_OK;
}

/* Adds a cast of `f` in `forms` before `product`. */
static enum sl_status add_cast(struct walk *w, const struct sl_draft *product, const struct factor *f, unsigned forms,
                               enum sl_half half, struct cast *c) {
  const bool keeps = keeps_cast(w, f);
  struct sl_op op = sl_op_plain(SL_OP_FP8_CAST, w->l->dtype, product->op.phase);
  struct sl_operand operands[SL_MAX_OPERANDS] = {sl_build_as(f->of, SL_READ)};
  int n = 1;
  op.layer = product->op.layer, op.tensor = product->op.tensor;
  op.dim[0] = f->rows, op.dim[1] = f->columns;
  op.flags = forms | (keeps ? (unsigned)COLUMNS : 0);
  for (int k = 0; k < 2; k++) {
    const unsigned form = k == 0 ? ROWS : COLUMNS;
    if (!(op.flags & form)) continue;
    SL_TRY(buffer(w, f, form, keeps && form == COLUMNS, &c->buffer[k]));
    operands[n++] = sl_build_write(w->l, c->buffer[k]);
  }
  if (keeps) w->kept[f->of.buffer] = c->buffer[1];
  operands[n++] = sl_build_scale(w->l, c->placed, f->role);
  operands[n++] = sl_build_amax(w->l, c->placed, f->role);
  SL_TRY(sl_build_draft(&w->out, op, n, operands));
  w->out.items[w->out.count - 1].half = half;
  return SL_OK;
}

/* Whose scale a new cast has. All products that share an input find the first one's, forward and backward. */
static int scaled_by(const struct walk *w, const struct factor *f) {
  return f->role == SL_FP8_INPUT ? w->scaled_by[f->placed] : f->placed;
}

/* The cast of factor `f` of the product at draft `at`, made where there is none in its form. */
static enum sl_status cast(struct walk *w, size_t at, const struct factor *f, struct cast *out) {
  const int k = f->form == ROWS ? 0 : 1;
  struct cast *known = made(w, &f->of);
  enum sl_half half;
  *out = known != NULL ? *known : (struct cast){f->of, {-1, -1}, scaled_by(w, f)};
  if (w->forward && f->role == SL_FP8_INPUT) w->scaled_by[f->placed] = out->placed;
  if (!w->forward && k == 1 && f->of.buffer >= 0 && w->kept[f->of.buffer] >= 0) out->buffer[1] = w->kept[f->of.buffer];
  if (out->buffer[k] >= 0) return SL_OK;
  unsigned forms = forms_from(w, at, f, &half);
  for (int i = 0; i < 2; i++)
    if (out->buffer[i] >= 0) forms &= ~(unsigned)(i == 0 ? ROWS : COLUMNS);
  SL_TRY(add_cast(w, &w->from->items[at], f, forms, half, out));
  if (known == NULL && w->count < MOST_CASTS) known = &w->made[w->count++];
  if (known != NULL) *known = *out;
  return SL_OK;
}

/* ---- drafts ---- */

static enum sl_status add_product(struct walk *w, size_t at, struct sl_draft *d) {
  const struct sl_draft *whole = &w->from->items[at];
  struct cast casts[2];
  for (int i = 0; i < 2; i++) {
    const struct factor f = factor_of(w->l, whole, i);
    SL_TRY(cast(w, at, &f, &casts[i]));
    d->operand[i] = sl_build_read(w->l, casts[i].buffer[f.form == ROWS ? 0 : 1]);
  }
  d->op.flags = (d->op.flags & ~(unsigned)SL_OP_TRANS_A) | SL_OP_TRANS_B | SL_OP_SCALED;
  for (int i = 0; i < 2; i++)
    sl_build_insert(d, sl_op_at(&d->op, i == 0 ? SL_AT_SCALE_A : SL_AT_SCALE_B),
                    sl_build_scale(w->l, casts[i].placed, role_of(w->l, whole, i)));
  return SL_OK;
}

/* A cast of what is overwritten is no longer valid. */
static void forget_written(struct walk *w, const struct sl_draft *d) {
  for (int i = w->count; i-- > 0;)
    if (writes(d, w->made[i].of.buffer)) w->made[i] = w->made[--w->count];
}

static enum sl_status add(struct walk *w, size_t at) {
  struct sl_draft d = w->from->items[at];
  if (d.op.layer != w->layer) w->count = 0, w->layer = d.op.layer;
  if (is_product(w->l, &d)) SL_TRY(add_product(w, at, &d));
  forget_written(w, &w->from->items[at]);
  SL_TRY(sl_grow(&w->out.items, &w->out.capacity, w->out.count + 1, sizeof *w->out.items));
  w->out.items[w->out.count++] = d;
  return SL_OK;
}

static enum sl_status add_all(struct walk *w, struct sl_drafts *drafts) {
  enum sl_status status = SL_OK;
  w->from = drafts;
  w->out = (struct sl_drafts){0};
  w->count = 0, w->layer = -1;
  w->forward = drafts == &w->l->stage->forward;
  for (size_t i = 0; i < drafts->count && status == SL_OK; i++) status = add(w, i);
  free(drafts->items);
  *drafts = w->out;
  return status;
}

enum sl_status sl_models_cast(struct sl_lowering *l) {
  enum sl_status status;
  struct walk w = {.l = l};
  const size_t buffers = l->rank_class->buffer_count;
  if (!sl_build_casts(l)) return SL_OK;
  SL_GO(sl_calloc(&w.scaled_by, (size_t)l->pp_rank->tensor_count + 1, sizeof *w.scaled_by));
  SL_GO(sl_calloc(&w.kept, buffers + 1, sizeof *w.kept));
  for (int i = 0; i < l->pp_rank->tensor_count; i++) w.scaled_by[i] = i;
  for (size_t i = 0; i < buffers; i++) w.kept[i] = -1;
  SL_GO(add_all(&w, &l->stage->forward));
  SL_GO(add_all(&w, &l->stage->backward));
  for (size_t i = 0; i < buffers; i++)
    if (w.kept[i] >= 0) let_go(l, &l->stage->forward, (int32_t)i);
done:
  free(w.scaled_by);
  free(w.kept);
  return status;
}
