/* Where kernels write gradients; see bind.h. */
#include "core/lower/bind.h"

#include "core/lower/gradients.h"
#include "core/lower/lower.h"
#include "core/lower/reduce.h"
#include "core/op/operands.h"
#include "core/plan/kernels.h"

struct sl_operand sl_bind_target(const struct sl_lowering *l, int placed, enum sl_access access) {
  const struct sl_reduce *r = l->zero->reduce;
  const struct sl_placed *t = &l->pp_rank->tensors[placed];
  const struct sl_bucket *b = &r->buckets[r->bucket_of[placed]];
  if (sl_gradients_sharded(l)) return sl_build_part(l, b->buffer, access, t->flat - b->lo, t->numel);
  return sl_build_part(l, l->homes->flat, access, t->flat, t->numel);
}

bool sl_bind_adds(const struct sl_lowering *l, int placed) {
  const struct sl_reduce *r = l->zero->reduce;
  return r->seen[placed] > 0 || (sl_gradients_kept(l, placed) && !sl_gradients_sharded(l));
}

/* Does a product add its result, the gradient of a weight, to what is there? */
static bool fuses(const struct sl_lowering *l, const struct sl_draft *d, int i) {
  const enum sl_accumulation how = sl_kernel_set(l->plan->config->sl.kernels)->accumulation;
  return (how == SL_ACCUMULATE_FUSED || how == SL_ACCUMULATE_FUSED_ANY) && d->op.kind == SL_OP_GEMM &&
         i == sl_op_at(&d->op, SL_AT_C);
}

/* Does the kernel leave operand `i`, a gradient, in fp32 though it computes in 16 bits? Whole gradients that are kept
 * in fp32 need no copy then. */
static bool makes_fp32(const struct sl_lowering *l, const struct sl_draft *d, int i) {
  const struct sl_kernel_set *set = sl_kernel_set(l->plan->config->sl.kernels);
  if (l->accumulate != SL_F32 || sl_gradients_sharded(l)) return false;
  switch (d->op.kind) {
  case SL_OP_GEMM:
    if (!d->operand[sl_op_at(&d->op, SL_AT_C)].gradient) return false;
    return set->gradients_in_fp32 || fuses(l, d, i);
  case SL_OP_EMBED_BWD:
  case SL_OP_LAYERNORM_BWD:
  case SL_OP_RMSNORM_BWD:
    return set->gradients_in_fp32;
  default:
    return false;
  }
}

/* The type in which the kernel writes operand `i`: that of its op, which under torch.autocast differ in types. */
static enum sl_dtype type_made(const struct sl_lowering *l, const struct sl_draft *d, int i) {
  return makes_fp32(l, d, i) ? SL_F32 : sl_dtype_stored(d->op.dtype);
}

/* Does the kernel write operand `i`, a gradient, to where it is kept? That must have the type that the kernel writes.
 * A product's epilogue overwrites, so an op of its own adds what it computes. */
static bool in_place(const struct sl_lowering *l, const struct sl_draft *d, int i) {
  const enum sl_dtype kept = sl_gradients_sharded(l) ? sl_gradients_bucket_dtype(l) : l->accumulate;
  const enum sl_accumulation how = sl_kernel_set(l->plan->config->sl.kernels)->accumulation;
  const bool beside = d->op.kind == SL_OP_GEMM && i == sl_op_at(&d->op, SL_AT_DBIAS);
  const bool fused = fuses(l, d, i) && (how == SL_ACCUMULATE_FUSED_ANY || makes_fp32(l, d, i));
  const bool overwrites = beside || (how != SL_ACCUMULATE_IN_PLACE && !fused);
  const bool apart = l->plan->strategy.gradients_apart;
  return kept == type_made(l, d, i) && !apart && !(overwrites && sl_bind_adds(l, d->operand[i].placed));
}

/* The temporary for a gradient that a kernel cannot write to where it is kept. */
static enum sl_status temporary_of(struct sl_lowering *l, int placed, enum sl_dtype type, struct sl_operand *out) {
  const struct sl_placed *t = &l->pp_rank->tensors[placed];
  int32_t buffer;
  if (l->homes->half >= 0) {
    *out = sl_build_part(l, l->homes->half, SL_WRITE, t->flat, t->numel);
    return SL_OK;
  }
  SL_TRY(sl_build_buffer(l, &buffer, SL_SCOPE_MICRO, SL_CATEGORY_GRADIENT, type, t->numel, "d.%s",
                         l->plan->model->tensors[t->tensor].name));
  *out = sl_build_write(l, buffer);
  return SL_OK;
}

enum sl_status sl_bind_gradients(struct sl_lowering *l, struct sl_draft *d) {
  const struct sl_draft drafted = *d;
  struct sl_reduce *r = l->zero->reduce;
  for (int i = 0; i < d->operand_count; i++) {
    struct sl_operand *o = &d->operand[i];
    r->temporary[i].buffer = -1;
    if (o->buffer >= 0 || !o->gradient) continue;
    if (in_place(l, &drafted, i)) {
      *o = sl_bind_target(l, o->placed, sl_bind_adds(l, o->placed) ? SL_READ_WRITE : SL_WRITE);
      continue;
    }
    SL_TRY(temporary_of(l, o->placed, type_made(l, &drafted, i), &r->temporary[i]));
    *o = r->temporary[i];
  }
  return SL_OK;
}
