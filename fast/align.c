/* Finds prefix, run and rest of actions; see align.h. */
#include "fast/align.h"

#include <stdlib.h>
#include <string.h>

int64_t sl_fast_operand_bytes(const struct sl_program *p, const struct sl_op *op) {
  const struct sl_slice *slices = sl_op_slices(p, op);
  int64_t sum = 0;
  for (int i = 0; i < op->slice_count; i++) sum += slices[i].bytes;
  return sum;
}

/* Whether the two are the same kind of op, of any size. */
static bool alike(const struct sl_op *x, const struct sl_op *y) {
  return x->kind == y->kind && x->lane == y->lane && x->group == y->group && x->dtype == y->dtype &&
         x->flags == y->flags && x->phase == y->phase && x->peer == y->peer;
}

bool sl_fast_same_op(const struct sl_program *p, const struct sl_op *x, const struct sl_program *q,
                     const struct sl_op *y) {
  return alike(x, y) && memcmp(x->dim, y->dim, sizeof x->dim) == 0 && x->slice_count == y->slice_count &&
         sl_fast_operand_bytes(p, x) == sl_fast_operand_bytes(q, y);
}

bool sl_fast_same_lanes(const struct sl_program *p, size_t issue, const struct sl_program *q, size_t other) {
  const struct sl_issue *x = &p->issues[issue], *y = &q->issues[other];
  if (x->wait_count != y->wait_count) return false;
  for (uint32_t i = 0; i < x->wait_count; i++)
    if (p->waits[x->wait + i].lane != q->waits[y->wait + i].lane) return false;
  return true;
}

static const struct sl_op *op_at(const struct sl_program *p, size_t issue) {
  return &p->ops[p->issues[issue].op];
}

static bool same(const struct sl_program *p, size_t issue, const struct sl_program *q, size_t other) {
  return sl_fast_same_op(p, op_at(p, issue), q, op_at(q, other)) && sl_fast_same_lanes(p, issue, q, other);
}

/* Whether the two are the same, or ops on all of a rank's parameters or gradients, whose size grows with the depth. */
static bool matches(const struct sl_program *p, size_t issue, const struct sl_program *q, size_t other) {
  const struct sl_op *x = op_at(p, issue), *y = op_at(q, other);
  const bool may_grow = x->phase == SL_PHASE_STEP || x->layer < 0;
  return same(p, issue, q, other) || (may_grow && alike(x, y) && sl_fast_same_lanes(p, issue, q, other));
}

/* Whether the `run` issues from `first` repeat the `run` issues before them; `before` issues precede `first` in the
 * action. */
static bool repeats(const struct sl_program *p, size_t first, size_t run, size_t before) {
  if (before < run) return false;
  for (size_t k = first; k < first + run; k++)
    if (!same(p, k, p, k - run)) return false;
  return true;
}

/* Aligns actions m of a and n of b, whose issues begin at i and j. */
static bool align_action(const struct sl_program *a, const struct sl_instance *m, size_t i, const struct sl_program *b,
                         const struct sl_instance *n, size_t j, struct sl_fast_align *out) {
  const size_t count = (size_t)m->op_count, deeper = (size_t)n->op_count, run = deeper - count;
  size_t prefix = 0, rest = 0;
  if (deeper < count || m->action.kind != n->action.kind || m->action.stage != n->action.stage) return false;
  const bool grows = run == 0 || m->action.kind == SL_ACTION_STEP;
  while (prefix < count && (grows ? matches(a, i + prefix, b, j + prefix) : same(a, i + prefix, b, j + prefix)))
    prefix++;
  while (rest < count && (rest + prefix < count ? matches(a, i + count - 1 - rest, b, j + deeper - 1 - rest)
                                                : same(a, i + count - 1 - rest, b, j + deeper - 1 - rest)))
    rest++;
  *out = (struct sl_fast_align){(int32_t)prefix, (int32_t)run, (int32_t)(count - rest)};
  if (prefix + rest < count) return false;
  while (run > 0 && !repeats(b, j + prefix, run, prefix)) /* the run may begin earlier, by as many ops as the rest can
                                                           * grow */
    if (prefix-- <= count - rest) return false;
  out->prefix = (int32_t)prefix;
  return true;
}

enum sl_status sl_fast_align(struct sl_fast_align **aligned, const struct sl_program *a, const struct sl_program *b) {
  size_t i = 0, j = 0;
  *aligned = NULL;
  if (a->instance_count != b->instance_count) return SL_OK;
  SL_TRY(sl_calloc(aligned, a->instance_count, sizeof **aligned));
  for (size_t n = 0; n < a->instance_count; n++) {
    if (!align_action(a, &a->instances[n], i, b, &b->instances[n], j, &(*aligned)[n])) {
      free(*aligned);
      *aligned = NULL;
      return SL_OK;
    }
    i += (size_t)a->instances[n].op_count;
    j += (size_t)b->instances[n].op_count;
  }
  return SL_OK;
}
