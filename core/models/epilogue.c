/* Fuses element-wise ops into the matrix product whose operands they work on, as an epilogue. A library such as
 * cuBLASLt then saves the launch, and memory is read or written once less.
 *
 *   gemm c = a b [+ bias];  gelu c -> out         ->  gemm+gelu    out = gelu(a b [+ bias]), c its aux
 *   gemm c = a b;           gelu_bwd c by x       ->  gemm+dgelu   c = (a b) gelu'(x), x its aux
 *   gemm dw = x^T dout;     bias_bwd dout -> db   ->  gemm+bgrad   also computes db, the sums of dout's rows
 *
 * This works on the drafts of a micro-batch, which are the same for every strategy. They already contain tensor
 * parallelism's communication, the halves of a split backward and what is recomputed; gathers, buckets and accumulation
 * are derived later from the operands of the fused ops (lower/gather.c, lower/reduce.c). A pair with anything in
 * between is not fused: the bias of a row-parallel layer is added after its all-reduce, and under sequence parallelism
 * its gradient is of other rows than the weight's. */
#include "core/models/epilogue.h"

#include "core/op/operands.h"
#include "core/plan/kernels.h"

#include <string.h>

enum { AUX_ALIGN = 8 }; /* cuBLASLt: elements per row of aux must be a multiple of it */

/* ---- operands ---- */

static bool same(const struct sl_operand *x, const struct sl_operand *y) {
  if (x->buffer != y->buffer || (x->buffer < 0 && (x->placed != y->placed || x->gradient != y->gradient))) return false;
  const struct sl_slice *s = &x->slice, *t = &y->slice;
  return s->slot == t->slot && s->offset == t->offset && s->bytes == t->bytes && s->shard_stride == t->shard_stride;
}

/* May two operands overlap? Different slots of a buffer may be the same memory. */
static bool overlap(const struct sl_operand *x, const struct sl_operand *y) {
  if (x->buffer != y->buffer || (x->buffer < 0 && (x->placed != y->placed || x->gradient != y->gradient))) return false;
  return x->slice.offset < y->slice.offset + y->slice.bytes && y->slice.offset < x->slice.offset + x->slice.bytes;
}

static bool touches(const struct sl_draft *d, const struct sl_operand *o) {
  for (int i = 0; i < d->operand_count; i++)
    if (overlap(&d->operand[i], o)) return true;
  return false;
}

/* Does either draft depend on what the other writes? Then their order must be kept. */
static bool ordered(const struct sl_draft *d, const struct sl_draft *e) {
  for (int i = 0; i < d->operand_count; i++)
    for (int k = 0; k < e->operand_count; k++)
      if (overlap(&d->operand[i], &e->operand[k]) &&
          ((d->operand[i].slice.access | e->operand[k].slice.access) & SL_WRITE))
        return true;
  return false;
}

/* ---- what can be fused ---- */

/* Are both on one lane, of the same type and half? An element-wise op has the type that the product stores, fused or
 * not. */
static bool alongside(const struct sl_draft *gemm, const struct sl_draft *next) {
  const enum sl_dtype type = sl_dtype_stored(gemm->op.dtype);
  return gemm->op.lane == next->op.lane && type == next->op.dtype && gemm->half == next->half;
}

/* A GPU's library requires alignment; on a CPU the epilogue is a kernel of its own. */
static bool aligned(const struct sl_plan *plan, const struct sl_op *op) {
  return plan->cluster->device.kind != SL_DEVICE_GPU || op->dim[1] % AUX_ALIGN == 0;
}

/* `next` works on the product's output c, which it overwrites. Libraries implement GELU as its tanh approximation. */
static unsigned gelu_of(const struct sl_plan *plan, const struct sl_draft *gemm, const struct sl_draft *next) {
  const struct sl_operand *c = &gemm->operand[2];
  const bool forward = next->op.kind == SL_OP_GELU_FWD;
  if (plan->model->form.activation != SL_ACTIVATION_GELU_TANH || next->op.scale > 0) return 0;
  if (!forward && (next->op.kind != SL_OP_GELU_BWD || gemm->op.flags & SL_OP_BIAS)) return 0;
  if (!same(c, &next->operand[0]) || c->slice.access != SL_WRITE || !aligned(plan, &gemm->op)) return 0;
  if (next->op.dim[0] != gemm->op.dim[0] || next->op.dim[1] != gemm->op.dim[1]) return 0;
  if (touches(gemm, &next->operand[1])) return 0; /* the operands of a product must not overlap */
  return forward ? SL_OP_GELU : SL_OP_DGELU;
}

/* `next` sums the rows of a factor of the product and both have k rows: the product is a weight's gradient. */
static unsigned bgrad_of(const struct sl_draft *gemm, const struct sl_draft *next) {
  const int64_t *d = gemm->op.dim;
  if (next->op.kind != SL_OP_BIAS_BWD || next->op.dim[0] != d[2]) return 0;
  if (same(&next->operand[0], &gemm->operand[0]) && next->op.dim[1] == d[0]) return SL_OP_BGRAD_A;
  return same(&next->operand[0], &gemm->operand[1]) && next->op.dim[1] == d[1] ? SL_OP_BGRAD_B : 0;
}

/* Products in fp8 that run have no epilogue but a bias: cuBLASLt has no bias gradient of 8-bit factors, for which
 * Transformer Engine has kernels beside its casts (nvte_cast_transpose_dbias_dgelu), too. */
static bool can_fuse(const struct sl_plan *plan, const struct sl_op *op) {
  if (op->kind != SL_OP_GEMM || op->dtype != SL_F8) return op->kind == SL_OP_GEMM;
  return sl_kernel_set(plan->config->sl.kernels)->fp8_casts != SL_CASTS_SHARDLAB;
}

/* Finds the draft to fuse into gemm `i`, and the flag for it; 0: none. For a weight's gradient it is that of its bias,
 * directly after it. For others it is the first op that touches the result: the weight gradients come between a
 * row-parallel layer's input gradient and gelu_bwd. */
static unsigned find(const struct sl_plan *plan, const struct sl_drafts *drafts, size_t i, size_t *at) {
  const struct sl_draft *gemm = &drafts->items[i];
  const bool weight = (gemm->op.flags & SL_OP_TRANS_A) && !(gemm->op.flags & SL_OP_TRANS_B);
  size_t k = i + 1;
  if (!weight && (gemm->op.flags & SL_OP_TRANS_A)) return 0;
  while (!weight && k < drafts->count && !touches(&drafts->items[k], &gemm->operand[2])) k++;
  if (k >= drafts->count || !alongside(gemm, &drafts->items[k])) return 0;
  for (size_t between = i + 1; between < k; between++)
    if (ordered(&drafts->items[between], &drafts->items[k])) return 0;
  *at = k;
  return weight ? bgrad_of(gemm, &drafts->items[k]) : gelu_of(plan, gemm, &drafts->items[k]);
}

/* ---- the product with its epilogue ---- */

/* gelu: r x, w out; gelu_bwd: + dout, r x; bias_bwd: r dout, w dbias */
static void fuse(struct sl_draft *gemm, unsigned epilogue, const struct sl_draft *next) {
  struct sl_operand beside = next->operand[1];
  if (epilogue == SL_OP_GELU) {
    beside = gemm->operand[2];
    gemm->operand[2] = next->operand[1];
  }
  gemm->op.flags |= epilogue;
  const bool aux = epilogue & (SL_OP_GELU | SL_OP_DGELU);
  sl_build_insert(gemm, sl_op_at(&gemm->op, aux ? SL_AT_AUX : SL_AT_DBIAS), beside);
}

/* Fusing leaves gaps. The few drafts before a gap are moved up to it; finished drafts are compacted at the front. */
static void fuse_all(const struct sl_plan *plan, struct sl_drafts *drafts) {
  size_t done = 0;
  for (size_t i = 0; i < drafts->count; i++, done++) {
    size_t k;
    const unsigned epilogue = can_fuse(plan, &drafts->items[i].op) ? find(plan, drafts, i, &k) : 0;
    if (epilogue != 0) {
      fuse(&drafts->items[i], epilogue, &drafts->items[k]);
      memmove(&drafts->items[i + 1], &drafts->items[i], (k - i) * sizeof *drafts->items);
      i++;
    }
    if (done < i) drafts->items[done] = drafts->items[i];
  }
  drafts->count = done;
}

void sl_models_fuse_epilogues(struct sl_lowering *l) {
  if (!l->plan->fuse_epilogues) return;
  fuse_all(l->plan, &l->stage->forward);
  fuse_all(l->plan, &l->stage->backward);
}
