/* See cut.h. */
#include "core/plan/cut.h"

#include "core/base/checked.h"

bool sl_cut_is_whole(const struct sl_plan *plan, const struct sl_tensor *t) {
  const bool untied = !plan->model->tied_head;
  if (t->tp_dim < 0) return true;
  if (!t->vocabulary || plan->tp_vocab == SL_TP_VOCAB_PARALLEL) return false;
  return plan->tp_vocab == SL_TP_VOCAB_WHOLE || (t->part == SL_PART_EMBEDDING && untied);
}

static int members_of(const struct sl_plan *plan, const struct sl_tensor *t) {
  return sl_cut_is_whole(plan, t) ? 1 : plan->tp;
}

/* Is dimension `dim` of `t` cut over the tp group, or padded? */
static bool is_cut(const struct sl_plan *plan, const struct sl_tensor *t, int dim) {
  return t->tp_dim == dim && (members_of(plan, t) > 1 || (t->vocabulary && plan->vocab_multiple > 1));
}

static int64_t lead_of(const struct sl_tensor *t) {
  return t->tp_lead > 1 ? t->tp_lead : 1;
}

/* The blocks of dimension tp_dim, of the length of the last. */
static int64_t blocks_of(const struct sl_tensor *t) {
  return (t->tp_blocks > 1 ? t->tp_blocks : 1) + lead_of(t) - 1;
}

/* A member's part of one of the blocks of dimension tp_dim. */
static int64_t width_of(const struct sl_plan *plan, const struct sl_tensor *t) {
  const int64_t block = t->shape[t->tp_dim] / blocks_of(t);
  const int64_t members = members_of(plan, t), part = (block + members - 1) / members;
  const int64_t multiple = t->vocabulary ? plan->vocab_multiple : 1;
  return sl_round_up(part, multiple);
}

int64_t sl_cut_local_size(const struct sl_plan *plan, const struct sl_tensor *t, int dim) {
  if (!is_cut(plan, t, dim)) return t->shape[dim];
  return blocks_of(t) * width_of(plan, t);
}

/* Tensor parallelism divides dimension tp_dim of each of tp_blocks blocks into tp widths, so a logical tensor is (outer
 * x blocks, tp, width x inner); the last width of a block may be incomplete. */
struct sl_cut sl_cut_of(const struct sl_plan *plan, const struct sl_tensor *t) {
  const int64_t local = t->tp_dim < 0 ? 0 : sl_cut_local_size(plan, t, t->tp_dim);
  if (t->tp_dim < 0 || (members_of(plan, t) == 1 && local == t->shape[t->tp_dim])) return sl_cut_none(t->numel);
  const int64_t inner = t->tp_dim == 0 && t->n_dim == 2 ? t->shape[1] : 1;
  const int64_t blocks = blocks_of(t);
  return (struct sl_cut){.row = t->shape[t->tp_dim] / blocks * inner,
                         .width = local / blocks * inner,
                         .lead = lead_of(t),
                         .members = members_of(plan, t)};
}

/* Rows of the same length: the first alone, if it is longer, or all others. */
struct rows {
  int64_t row, width;
  int64_t logical, local; /* what is before them in the tensor and in a member's part */
};

static struct rows rows_of(const struct sl_cut *cut, bool first) {
  if (first) return (struct rows){cut->lead * cut->row, cut->lead * cut->width, 0, 0};
  return cut->lead > 1 ? (struct rows){cut->row, cut->width, cut->lead * cut->row, cut->lead * cut->width}
                       : (struct rows){cut->row, cut->width, 0, 0};
}

static struct rows rows_at(const struct sl_cut *cut, int64_t local) {
  return rows_of(cut, local < cut->lead * cut->width);
}

struct sl_run_of sl_cut_run(const struct sl_cut *cut, int member, int64_t local, int64_t end) {
  const struct rows in = rows_at(cut, local);
  const int64_t row = (local - in.local) / in.width, column = (local - in.local) % in.width;
  const int64_t first = in.logical + member * in.width + column;
  const int64_t left = in.row - member * in.width;
  const int64_t own = left < in.width ? left : in.width; /* elements that are no padding */
  const bool padding = column >= own;
  const int64_t count = (padding ? in.width : own) - column;
  return (struct sl_run_of){local, padding ? -1 : row * in.row + first, count < end - local ? count : end - local};
}

/* Elements of a part's first `local` that are no padding. */
int64_t sl_cut_held(const struct sl_cut *cut, int member, int64_t local) {
  if (cut->lead > 1) return local; /* these rows have no padding */
  const int64_t left = cut->row - member * cut->width;
  const int64_t own = left < 0 ? 0 : left < cut->width ? left : cut->width, column = local % cut->width;
  return local / cut->width * own + (column < own ? column : own);
}

struct sl_cut_place sl_cut_find(const struct sl_cut *cut, int64_t logical) {
  const struct rows in = rows_of(cut, logical < cut->lead * cut->row);
  const int64_t row = (logical - in.logical) / in.row, column = (logical - in.logical) % in.row;
  const int member = (int)(column / in.width);
  const int64_t within = column % in.width, end = (member + 1) * in.width;
  return (struct sl_cut_place){
      .member = member, .local = in.local + row * in.width + within, .count = (end < in.row ? end : in.row) - column};
}
