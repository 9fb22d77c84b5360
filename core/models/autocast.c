/* Casts of torch.autocast; see autocast.h. Those of activations are ops of the tape, those of weights are found by one
 * walk over the forward's drafts and one over the backward's. */
#include "core/models/autocast.h"

#include "core/models/gradients.h"
#include "core/plan/kernels.h"

#include <stdlib.h>

static const struct sl_kernel_set *set_of(const struct sl_lowering *l) {
  return sl_kernel_set(l->plan->config->sl.kernels);
}

static bool is_own(const struct sl_lowering *l) {
  return l->plan->config->sl.kernels == SL_KERNELS_SHARDLAB;
}

/* Does this configuration's lowering have casts of torch.autocast? */
static bool is_on(const struct sl_lowering *l) {
  return l->compute != l->dtype;
}

/* Do kernels that torch.compile made cast what they write? */
static bool fuses(const struct sl_lowering *l) {
  return is_on(l) && set_of(l)->torch_blocks;
}

bool sl_autocast_casts_apart(const struct sl_lowering *l) {
  return is_on(l) && !is_own(l) && !fuses(l);
}

enum sl_dtype sl_autocast_normed(const struct sl_lowering *l) {
  return fuses(l) ? l->compute : l->dtype;
}

/* ---- activations ---- */

enum kind { COPIED, READ_AS_IS };

static struct sl_op cast_op(const struct sl_tape *t, const struct sl_node *n, enum sl_op_kind kind,
                            enum sl_dtype type) {
  struct sl_op op = sl_transformer_rows_op(&t->g, kind, n->layer, -1, t->values[n->out[0]].count, 0);
  op.dtype = type;
  return op;
}

static enum sl_status forward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_operand out;
  if (n->kind == READ_AS_IS) {
    sl_tape_made(t, n, 0, sl_tape_at(t, n->in[0]));
    return SL_OK;
  }
  SL_TRY(sl_tape_make(t, n, 0, &out));
  return SL_BUILD_DRAFT(t->g.drafts, cast_op(t, n, SL_OP_COPY, t->values[n->out[0]].dtype), sl_tape_at(t, n->in[0]),
                        out);
}

/* A kernel that computes the gradient anyway also writes it in the other type. */
static enum sl_status write_beside(struct sl_tape *t, const struct sl_node *n, struct sl_operand into) {
  struct sl_op pass = cast_op(t, n, SL_OP_PASS, SL_U8);
  pass.dim[0] = into.slice.bytes, pass.dim[1] = 0;
  pass.flags = SL_OP_KEEPS;
  return SL_BUILD_DRAFT(t->g.drafts, pass, into);
}

/* The gradient goes to the type of the input, where torch's kernels cast it first and then add it to another one. */
static enum sl_status backward(struct sl_tape *t, const struct sl_node *n) {
  const struct sl_value *x = &t->values[n->in[0]];
  const struct sl_operand d = sl_gradient_of(t, n->out[0]);
  const bool adds = x->has_gradient;
  struct sl_operand into;
  int32_t cast;
  if (adds && !is_own(t->g.l)) {
    SL_TRY(sl_transformer_buffer(&t->g, &cast, x->dtype, x->count, n->layer, "dcast.apart", false));
    SL_TRY(SL_BUILD_DRAFT(t->g.drafts, cast_op(t, n, SL_OP_COPY, x->dtype), d, sl_build_write(t->g.l, cast)));
    return sl_gradient_give(t, n->in[0], sl_build_read(t->g.l, cast));
  }
  SL_TRY(sl_gradient_into(t, n->in[0], &into));
  if (fuses(t->g.l)) return write_beside(t, n, into);
  return SL_BUILD_DRAFT(t->g.drafts, cast_op(t, n, adds ? SL_OP_ADD : SL_OP_COPY, x->dtype), d, into);
}

static const struct sl_rule rule = {.forward = forward, .backward = backward};

/* What is kept of a cast norm is recomputed where the norm is. */
static int cast(struct sl_tape *t, int x, enum sl_dtype type, enum kind kind) {
  const struct sl_value *from = &t->values[x];
  const struct sl_value value = {.name = "cast",
                                 .gradient_name = "dcast",
                                 .dtype = type,
                                 .count = from->count,
                                 .made = from->made == SL_MADE_NORM ? SL_MADE_NORM : SL_MADE_ELEMENTWISE};
  if (x == 0 || from->dtype == type) return x;
  const int out = sl_tape_value(t, value);
  sl_tape_node(t, (struct sl_node){.rule = &rule, .in = {x}, .out = {out}, .kind = (int)kind});
  return out;
}

int sl_autocast_for_product(struct sl_tape *t, int x) {
  return cast(t, x, t->g.l->compute, COPIED);
}

int sl_autocast_for_norm(struct sl_tape *t, int x) {
  return cast(t, x, t->g.l->dtype, fuses(t->g.l) ? READ_AS_IS : COPIED);
}

int sl_autocast_for_sum(struct sl_tape *t, int x) {
  return cast(t, x, t->g.l->dtype, is_own(t->g.l) ? COPIED : READ_AS_IS);
}

/* ---- weights and biases ---- */

/* The cast of a placed tensor; -1: there is none. */
struct held {
  int32_t forward, backward;
  bool kept; /* the backward reads the forward's */
};

struct walk {
  struct sl_lowering *l;
  struct sl_drafts out;
  struct held *held; /* per placed tensor */
  bool backward;
};

/* Does a checkpoint let go of the casts of this layer? It repeats every op down to the last one that saves a tensor,
 * but what its policy keeps, and no policy keeps a cast. */
static bool casts_again(const struct walk *w, int layer) {
  const bool block = layer >= 0 && layer < (int)w->l->plan->model->n_layer;
  const enum sl_recompute asked = block ? sl_recompute_asked(w->l, layer) : SL_RECOMPUTE_NONE;
  return asked == SL_RECOMPUTE_FULL || asked == SL_RECOMPUTE_SELECTIVE_OP;
}

static enum sl_status add_cast(struct walk *w, const struct sl_draft *reader, const struct sl_operand *weight,
                               int32_t *out) {
  struct sl_lowering *l = w->l;
  const struct sl_placed *placed = &l->pp_rank->tensors[weight->placed];
  struct sl_op op = sl_op_plain(SL_OP_COPY, l->compute, reader->op.phase);
  struct sl_operand whole = *weight;
  whole.slice.bytes = placed->numel * sl_dtype_bytes(l->dtype);
  op.layer = reader->op.layer;
  op.tensor = weight->placed;
  op.dim[0] = placed->numel;
  SL_TRY(sl_build_buffer(l, out, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, l->compute, placed->numel, "cast.%s",
                         l->plan->model->tensors[placed->tensor].name));
  return SL_BUILD_DRAFT(&w->out, op, whole, sl_build_write(l, *out));
}

/* The buffer that `reader` reads instead of the parameter. */
static enum sl_status cast_of(struct walk *w, const struct sl_draft *reader, const struct sl_operand *weight,
                              int32_t *out) {
  struct held *h = &w->held[weight->placed];
  int32_t *here = w->backward ? &h->backward : &h->forward;
  if (w->backward && *here < 0 && h->forward >= 0 && !casts_again(w, reader->op.layer)) {
    h->kept = true;
    *here = h->forward;
  }
  if (*here < 0) SL_TRY(add_cast(w, reader, weight, here));
  *out = *here;
  return SL_OK;
}

static enum sl_status add(struct walk *w, struct sl_draft d) {
  const bool casts = sl_dtype_stored(d.op.dtype) == w->l->compute;
  const struct sl_draft reader = d;
  for (int i = 0; i < d.operand_count && casts; i++) {
    struct sl_operand *o = &d.operand[i];
    int32_t buffer;
    if (o->buffer >= 0 || o->gradient) continue;
    SL_TRY(cast_of(w, &reader, o, &buffer));
    *o = sl_build_read(w->l, buffer);
  }
  SL_TRY(sl_grow(&w->out.items, &w->out.capacity, w->out.count + 1, sizeof *w->out.items));
  w->out.items[w->out.count++] = d;
  return SL_OK;
}

static enum sl_status add_all(struct walk *w, struct sl_drafts *drafts) {
  enum sl_status status = SL_OK;
  w->out = (struct sl_drafts){0};
  w->backward = drafts == &w->l->stage->backward;
  for (size_t i = 0; i < drafts->count && status == SL_OK; i++) status = add(w, drafts->items[i]);
  free(drafts->items);
  *drafts = w->out;
  return status;
}

/* The end of the region, where the cache lets go of what no backward needs. A compiled graph has no cache. */
static enum sl_status leave_region(struct walk *w) {
  const struct sl_lowering *l = w->l;
  for (int i = 0; i < l->pp_rank->tensor_count; i++) {
    struct sl_op pass = sl_op_plain(SL_OP_PASS, SL_U8, SL_PHASE_FORWARD);
    if (w->held[i].kept) sl_build_slots(w->l, w->held[i].forward, SL_SLOT_ACTIVATION);
    if (w->held[i].kept || w->held[i].forward < 0 || !sl_autocast_casts_apart(l)) continue;
    pass.flags = SL_OP_READS_KEPT;
    pass.layer = -1;
    SL_TRY(SL_BUILD_DRAFT(&l->stage->forward, pass, sl_build_read(l, w->held[i].forward)));
  }
  return SL_OK;
}

enum sl_status sl_autocast_weights(struct sl_lowering *l) {
  enum sl_status status;
  struct walk w = {.l = l};
  if (!is_on(l)) return SL_OK;
  SL_TRY(sl_calloc(&w.held, (size_t)l->pp_rank->tensor_count + 1, sizeof *w.held));
  for (int i = 0; i < l->pp_rank->tensor_count; i++) w.held[i].forward = w.held[i].backward = -1;
  SL_GO(add_all(&w, &l->stage->forward));
  SL_GO(add_all(&w, &l->stage->backward));
  SL_GO(leave_region(&w));
done:
  free(w.held);
  return status;
}
