/* See cut.h. */
#include "core/plan/cut.h"

/* Is dimension `dim` of `t` cut over the tp group, or padded? */
static bool is_cut(const struct sl_plan *plan, const struct sl_tensor *t, int dim) {
  return t->tp_dim == dim && (plan->tp > 1 || (t->vocabulary && plan->vocab_multiple > 1));
}

/* A member's part of one of the tp_blocks blocks of dimension tp_dim. */
static int64_t width_of(const struct sl_plan *plan, const struct sl_tensor *t) {
  const int64_t block = t->shape[t->tp_dim] / (t->tp_blocks > 1 ? t->tp_blocks : 1);
  const int64_t part = (block + plan->tp - 1) / plan->tp, multiple = t->vocabulary ? plan->vocab_multiple : 1;
  return (part + multiple - 1) / multiple * multiple;
}

int64_t sl_cut_local_size(const struct sl_plan *plan, const struct sl_tensor *t, int dim) {
  if (!is_cut(plan, t, dim)) return t->shape[dim];
  return (t->tp_blocks > 1 ? t->tp_blocks : 1) * width_of(plan, t);
}

/* Tensor parallelism divides dimension tp_dim of each of tp_blocks blocks into tp widths, so a logical tensor is (outer
 * x blocks, tp, width x inner); the last width of a block may be incomplete. */
struct sl_cut sl_cut_of(const struct sl_plan *plan, const struct sl_tensor *t) {
  const int64_t local = t->tp_dim < 0 ? 0 : sl_cut_local_size(plan, t, t->tp_dim);
  if (t->tp_dim < 0 || (plan->tp == 1 && local == t->shape[t->tp_dim])) return (struct sl_cut){t->numel, t->numel, 1};
  const int64_t inner = t->tp_dim == 0 && t->n_dim == 2 ? t->shape[1] : 1;
  const int64_t blocks = t->tp_blocks > 1 ? t->tp_blocks : 1;
  return (struct sl_cut){t->shape[t->tp_dim] / blocks * inner, local / blocks * inner, plan->tp};
}

struct sl_run_of sl_cut_run(const struct sl_cut *cut, int member, int64_t local, int64_t end) {
  const int64_t row = local / cut->width, column = local % cut->width, first = member * cut->width + column;
  const int64_t left = cut->row - member * cut->width;
  const int64_t own = left < cut->width ? left : cut->width; /* elements that are no padding */
  const bool padding = column >= own;
  const int64_t count = (padding ? cut->width : own) - column;
  return (struct sl_run_of){local, padding ? -1 : row * cut->row + first, count < end - local ? count : end - local};
}

int64_t sl_cut_held(const struct sl_cut *cut, int member, int64_t local) {
  const int64_t left = cut->row - member * cut->width;
  const int64_t own = left < 0 ? 0 : left < cut->width ? left : cut->width, column = local % cut->width;
  return local / cut->width * own + (column < own ? column : own);
}

struct sl_cut_place sl_cut_find(const struct sl_cut *cut, int64_t logical) {
  const int64_t row = logical / cut->row, column = logical % cut->row;
  const int member = (int)(column / cut->width);
  const int64_t within = column % cut->width, end = (member + 1) * cut->width;
  return (struct sl_cut_place){
      .member = member, .local = row * cut->width + within, .count = (end < cut->row ? end : cut->row) - column};
}
