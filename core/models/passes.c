/* Turns the rows of a kernel set into ops; see passes.h.
 *
 * What a row keeps is a buffer that is written by the pass after the forward op and read by the first one after the
 * backward op. Forward and backward are matched by layer, in reverse order. Where the backward recomputes a block, the
 * replayed forward is the nearest one before it, so the buffer lives between those two, and the original forward keeps
 * nothing. A backward op that comes in halves reads its buffer in both; the bytes and launches of its rows are divided
 * between them. */
#include "core/models/passes.h"

#include "core/base/checked.h"
#include "core/plan/kernels.h"

#include <stdlib.h>

/* What a pass after a forward keeps for the backward of its layer. */
struct kept {
  enum sl_op_kind by;
  int layer, op; /* number of the forward */
  int32_t buffer;
};

struct passes {
  struct sl_lowering *l;
  const struct sl_kernel_set *set;
  size_t rows;       /* of the set */
  bool *replayed;    /* per layer and row of the set: the backward also contains the op of that row */
  struct kept *kept; /* not read yet, the newest last */
  size_t count, capacity;
  int ops;    /* so many have had their passes */
  int remade; /* the layer whose first norm is made again, or was last; -2: none */
};

/* What the passes of a backward have read of `kept`: of which forward (-1: nothing yet), down to where. */
struct reading {
  int op;
  size_t end;
};

static const struct sl_kernel_row *row_after(const struct passes *p, const struct sl_op *op,
                                             const struct sl_kernel_row *row) {
  return sl_kernel_row(p->l->plan->config, p->l->plan->model, op, row);
}

static int layer_index(const struct passes *p, const struct sl_op *op) {
  return op->layer < 0 ? (int)p->l->plan->model->n_layer + 1 : op->layer;
}

static bool *replayed_at(const struct passes *p, const struct sl_op *op, const struct sl_kernel_row *row) {
  return &p->replayed[(size_t)layer_index(p, op) * p->rows + (size_t)(row - p->set->rows)];
}

/* The number of elements of `op` to which a row's bytes refer. */
static int64_t elements_of(const struct sl_kernel_row *row, const struct sl_op *op) {
  const int64_t *d = op->dim;
  const int64_t q = d[0] * d[1] * d[2] * d[3], kv = 2 * d[0] * d[1] * d[4] * d[3];
  if (row->element == SL_ELEMENT_OF_Q) return q;
  if (row->element == SL_ELEMENT_OF_KV) return kv;
  if (row->element == SL_ELEMENT_OF_QKV) return q + kv;
  if (row->element == SL_ELEMENT_OF_REPEATED) return d[4] < d[2] ? q : 0;
  if (row->element == SL_ELEMENT_OF_BLOCKS) return sl_product(sl_op_cp(op) - 1, q);
  switch (op->kind) {
  case SL_OP_ATTENTION_FWD:
  case SL_OP_ATTENTION_BWD:
    return d[0] * d[2] * d[1] * d[1];
  case SL_OP_ROPE:
    return d[0] * d[1] * d[2] * d[3];
  default:
    return d[0] * d[1];
  }
}

static enum sl_status bytes_buffer(const struct passes *p, int32_t *out, int64_t bytes, const struct sl_op *op,
                                   const char *name) {
  return sl_build_buffer(p->l, out, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, SL_U8, bytes, "h.%d.%s.%s", op->layer,
                         sl_op_name(op->kind), name);
}

/* Bytes an element that are kept beside those of the row: rows of RMSNorm in 16 bits take it that x itself is not kept
 * (kernel_rows.h), but the input of a block that is made again is. */
static int kept_beside(struct passes *p, const struct sl_kernel_row *row, const struct sl_op *op, bool backward) {
  const bool norm = p->set->torch_attention && op->kind == SL_OP_RMSNORM_FWD && row->types == SL_IN_16_BITS;
  if (!norm || !backward || p->remade == op->layer || p->l->plan->model->form.norms == SL_NORMS_AFTER) return 0;
  p->remade = op->layer;
  return 2;
}

/* Keeps what the pass after `op` says; nothing if the backward recomputes it. */
static enum sl_status keep(struct passes *p, const struct sl_kernel_row *row, const struct sl_op *op, bool backward,
                           struct sl_op *pass, struct sl_operand *operand, int *n) {
  int32_t buffer;
  if (!backward && *replayed_at(p, op, row)) return SL_OK;
  const int bytes = row->kept + kept_beside(p, row, op, backward);
  SL_TRY(bytes_buffer(p, &buffer, bytes * elements_of(row, op), op, "kept"));
  if (!backward) sl_build_slots(p->l, buffer, SL_SLOT_ACTIVATION);
  if (backward && p->l->stage->split) sl_build_slots(p->l, buffer, SL_SLOT_WEIGHT);
  SL_TRY(sl_grow(&p->kept, &p->capacity, p->count + 1, sizeof *p->kept));
  p->kept[p->count++] = (struct kept){row->kept_by, op->layer, p->ops, buffer};
  pass->flags |= SL_OP_KEEPS;
  operand[(*n)++] = sl_build_write(p->l, buffer);
  return SL_OK;
}

/* What a pass of `op`, a backward, reads of what was kept: of the newest forward of its layer, since the last op is
 * undone first, what no pass has read yet. It is no longer kept then, unless this is only the input's half of the
 * backward: the weights' half reads it, too. */
static void read_kept(struct passes *p, const struct sl_op *op, struct sl_op *pass, struct sl_operand *operand, int *n,
                      struct reading *r) {
  for (; r->end > 0; r->end--) {
    const struct kept k = p->kept[r->end - 1];
    if (k.by != op->kind || k.layer != op->layer || (r->op >= 0 && k.op != r->op)) continue;
    pass->flags |= SL_OP_READS_KEPT;
    operand[(*n)++] = sl_build_read(p->l, k.buffer);
    r->op = k.op;
    r->end--;
    if (op->flags & SL_OP_INPUT_GRAD) return;
    p->count--;
    for (size_t i = r->end; i < p->count; i++) p->kept[i] = p->kept[i + 1];
    return;
  }
}

/* What `op` has of a row's bytes or launches, of which `weights` are those of the weights' half. */
static int part_of(const struct sl_op *op, int whole, int weights) {
  if (op->flags & SL_OP_INPUT_GRAD) return whole - weights;
  return op->flags & SL_OP_WEIGHT_GRAD ? weights : whole;
}

/* Does a framework launch anything beside `op`, or has our kernel another's memory? */
static bool launches(const struct sl_kernel_row *row, const struct sl_op *op) {
  return elements_of(row, op) > 0 && (row->launches == 0 || part_of(op, row->launches, row->weight_launches) > 0);
}

/* `op` is that of `beside`, or a part of it. */
static enum sl_status add_pass(struct passes *p, struct sl_drafts *to, const struct sl_kernel_row *row,
                               const struct sl_op *op, const struct sl_draft *beside, bool backward,
                               struct reading *r) {
  struct sl_operand operand[3];
  int32_t scratch;
  int n = 0;
  struct sl_op pass = sl_op_plain(SL_OP_PASS, SL_U8, op->phase);
  pass.layer = op->layer;
  pass.tensor = op->tensor;
  pass.dim[0] = part_of(op, row->bytes, row->weight_bytes) * elements_of(row, op);
  pass.dim[1] = part_of(op, row->launches, row->weight_launches);
  if (row->kept > 0) SL_TRY(keep(p, row, op, backward, &pass, operand, &n));
  if (backward) read_kept(p, op, &pass, operand, &n, r);
  if (row->scratch > 0) {
    SL_TRY(bytes_buffer(p, &scratch, row->scratch * elements_of(row, op), op, "scratch"));
    pass.flags |= SL_OP_WORKSPACE;
    operand[n++] = sl_build_write(p->l, scratch);
  }
  SL_TRY(sl_build_draft(to, pass, n, operand));
  to->items[to->count - 1].half = beside->half;
  return SL_OK;
}

/* The ops that a framework has for one of ours, which `parts` has room for: it rotates q and k one after the other,
 * where we rotate a packed tensor at once. Returns how many. */
enum { MOST_PARTS = 2 };
static int parts_of(const struct sl_op *op, struct sl_op *parts) {
  parts[0] = parts[1] = *op;
  if (op->kind != SL_OP_ROPE || op->dim[4] == 0) return 1;
  parts[1].dim[2] = op->dim[4];
  parts[0].dim[4] = parts[1].dim[4] = 0;
  return 2;
}

static enum sl_status add_passes(struct passes *p, struct sl_drafts *out, const struct sl_draft *beside,
                                 bool backward) {
  struct sl_op parts[MOST_PARTS];
  const int count = parts_of(&beside->op, parts);
  struct reading r = {.op = -1, .end = p->count};
  for (int i = 0; i < count; i++)
    for (const struct sl_kernel_row *row = NULL; (row = row_after(p, &parts[i], row)) != NULL;) {
      if (!launches(row, &parts[i])) continue;
      SL_TRY(add_pass(p, out, row, &parts[i], beside, backward, &r));
    }
  p->ops++;
  return SL_OK;
}

static enum sl_status add_all(struct passes *p, struct sl_drafts *drafts, bool backward) {
  struct sl_drafts out = {0};
  enum sl_status status = SL_OK;
  for (size_t i = 0; i < drafts->count && status == SL_OK; i++) {
    status = sl_grow(&out.items, &out.capacity, out.count + 1, sizeof *out.items);
    if (status == SL_OK) out.items[out.count++] = drafts->items[i];
    if (status == SL_OK) status = add_passes(p, &out, &drafts->items[i], backward);
  }
  free(drafts->items);
  *drafts = out;
  return status;
}

enum sl_status sl_models_add_passes(struct sl_lowering *l) {
  struct passes p = {.l = l, .set = sl_kernel_set(l->plan->config->sl.kernels), .remade = -2};
  enum sl_status status;
  while (p.set->rows[p.rows].kind != SL_OP_COUNT) p.rows++;
  if (p.rows == 0) return SL_OK;
  SL_TRY(sl_calloc(&p.replayed, (size_t)l->plan->model->n_layer + 2, p.rows * sizeof *p.replayed));
  for (size_t i = 0; i < l->stage->backward.count; i++) {
    const struct sl_op *op = &l->stage->backward.items[i].op;
    for (const struct sl_kernel_row *row = NULL; (row = row_after(&p, op, row)) != NULL;)
      *replayed_at(&p, op, row) = true;
  }
  SL_GO(add_all(&p, &l->stage->forward, false));
  SL_GO(add_all(&p, &l->stage->backward, true));
done:
  free(p.replayed);
  free(p.kept);
  return status;
}
