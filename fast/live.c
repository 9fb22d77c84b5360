/* Memory in use over the course of a small plan's step; see live.h. */
#include "fast/live.h"

#include "core/program/memory_report.h"

#include <stdlib.h>
#include <string.h>

const struct sl_instance *sl_fast_nth(const struct sl_program *p, enum sl_action_kind kind, int nth) {
  for (size_t i = 0; i < p->instance_count; i++)
    if (p->instances[i].action.kind == kind && nth-- == 0) return &p->instances[i];
  return NULL;
}

static double aligned(int64_t bytes) {
  return (double)sl_aligned(bytes);
}

static double persistent_bytes(const struct sl_class *c) {
  double sum = 0;
  for (size_t i = 0; i < c->buffer_count; i++) {
    const struct sl_buffer *b = &c->buffers[i];
    if (b->persistent && b->space == SL_SPACE_DEVICE) sum += b->slots * aligned(b->bytes);
  }
  return sum;
}

static double lives(const struct sl_memory_sample *x) {
  double sum = 0;
  for (int k = 0; k < SL_CATEGORY_COUNT; k++) sum += (double)x->live[k];
  return sum;
}

/* The first sample after `issue`. */
static size_t sample_behind(const struct sl_memory_report *r, size_t issue) {
  size_t low = 0, high = r->curve_count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (r->curve[middle].issue <= issue) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* The peak memory of issues [first, end) of a step, in excess of `base`. */
static double most_live(const struct sl_class *c, size_t first, size_t end, double base) {
  const struct sl_memory_report *r = &c->memory[SL_SPACE_DEVICE];
  const size_t behind = sample_behind(r, first);
  double most = 0;
  for (size_t i = behind > 0 ? behind - 1 : 0; i < r->curve_count && r->curve[i].issue < end; i++) {
    const double now = lives(&r->curve[i]) - base;
    if (now > most) most = now;
  }
  return most;
}

/* The first issue of an instance, and the one behind its last. Issues follow each other in the order of instances. */
static size_t first_issue(const struct sl_program *p, const struct sl_instance *n) {
  size_t sum = 0;
  for (const struct sl_instance *before = p->instances; before < n; before++) sum += (size_t)before->op_count;
  return sum;
}

static size_t end_issue(const struct sl_program *p, const struct sl_instance *n) {
  return first_issue(p, n) + (size_t)n->op_count;
}

/* The issue at which block `layer`, not the topmost, begins in a backward: behind the first ops of the one above it. What
 * comes before that may have the number of any layer, as the gradient of a stage's output. */
static size_t layer_issue(const struct sl_program *p, const struct sl_instance *n, int layer) {
  const size_t end = end_issue(p, n);
  size_t i = first_issue(p, n);
  while (i < end && p->ops[p->issues[i].op].layer != layer + 1) i++;
  while (i < end && p->ops[p->issues[i].op].layer != layer) i++;
  return i;
}

/* The issue behind the last of block `layer` in a backward. */
static size_t layer_end(const struct sl_program *p, const struct sl_instance *n, int layer) {
  const size_t first = first_issue(p, n);
  size_t i = end_issue(p, n);
  while (i > first && p->ops[p->issues[i - 1].op].layer != layer) i--;
  return i;
}

/* Marks the buffers that an instance uses: sets `bit` of used[buffer]. */
static void mark_used(const struct sl_program *p, const struct sl_instance *n, uint8_t bit, uint8_t *used) {
  for (int32_t o = n->first_op; o < n->first_op + n->op_count; o++) {
    const struct sl_slice *slices = sl_op_slices(p, &p->ops[o]);
    for (int i = 0; i < p->ops[o].slice_count; i++) used[slices[i].buffer] |= bit;
  }
}

/* The bytes that a stage receives per micro-batch. */
static double stream_bytes(const struct sl_class *c) {
  for (size_t i = 0; i < c->buffer_count; i++)
    if (strcmp(c->buffers[i].name, "stream") == 0) return aligned(c->buffers[i].bytes);
  return 0;
}

/* What a micro-batch in flight holds: the buffers that are in use from its forward to its backward, including the
 * stage's input. */
static enum sl_status kept_bytes(const struct sl_class *c, const struct sl_instance *forward,
                                 const struct sl_instance *backward, bool receives, double *sum) {
  enum { FORWARD = 1, BACKWARD = 2 };
  const struct sl_program *p = &c->programs[SL_PROGRAM_STEP];
  uint8_t *used;
  SL_TRY(sl_calloc(&used, c->buffer_count, sizeof *used));
  mark_used(p, forward, FORWARD, used);
  mark_used(p, backward, BACKWARD, used);
  *sum = 0;
  for (size_t i = 0; i < c->buffer_count; i++) {
    const struct sl_buffer *b = &c->buffers[i];
    if (!b->persistent && b->slot == SL_SLOT_ACTIVATION && used[i] == (FORWARD | BACKWARD)) *sum += aligned(b->bytes);
  }
  if (receives) *sum += stream_bytes(c);
  free(used);
  return SL_OK;
}

static void raise(struct sl_fast_linear *x, double to) {
  if (to > x->ends) x->ends = to;
}

static void read_backward(const struct sl_stage *stage, const struct sl_class *c, const struct sl_instance *n,
                          struct sl_fast_linear *peak) {
  const struct sl_program *p = &c->programs[SL_PROGRAM_STEP];
  const double base = persistent_bytes(c);
  const int lowest = stage->first_layer, top = lowest + stage->layer_count - 1;
  const size_t under = layer_issue(p, n, top - 1), bottom = layer_issue(p, n, lowest), over = layer_end(p, n, lowest);
  raise(&peak[SL_FAST_TOP], most_live(c, first_issue(p, n), under, base));
  raise(&peak[SL_FAST_BOTTOM], most_live(c, bottom, over, base));
  raise(&peak[SL_FAST_END], most_live(c, over, end_issue(p, n), base));
}

static void read_peaks(const struct sl_plan *plan, const struct sl_class *c, struct sl_fast_stage *out) {
  const struct sl_program *p = &c->programs[SL_PROGRAM_STEP];
  const double base = persistent_bytes(c);
  enum sl_fast_time time = SL_FAST_EARLY;
  for (size_t i = 0; i < p->instance_count; i++) {
    const struct sl_instance *n = &p->instances[i];
    if (n->action.kind == SL_ACTION_STEP) continue;
    if (n->action.kind != SL_ACTION_BACKWARD) {
      raise(&out->peak[time][SL_FAST_FORWARD], most_live(c, first_issue(p, n), end_issue(p, n), base));
      continue;
    }
    read_backward(&plan->stages[c->pp_rank], c, n, out->peak[time]);
    time = SL_FAST_LATE;
  }
}

enum sl_status sl_fast_read_memory(struct sl_fast_stage *out, const struct sl_plan *plan, const struct sl_class *c) {
  const struct sl_program *p = &c->programs[SL_PROGRAM_STEP];
  const struct sl_instance *first = sl_fast_nth(p, SL_ACTION_BACKWARD, 0),
                           *last = sl_fast_nth(p, SL_ACTION_BACKWARD, SL_FAST_SAMPLED - 1);
  const struct sl_instance *step = sl_fast_nth(p, SL_ACTION_STEP, 0);
  const struct sl_stage *stage = &plan->stages[c->pp_rank];
  out->in_flight = plan->pp - c->pp_rank;
  out->input = c->pp_rank > 0 ? stream_bytes(c) : 0;
  SL_TRY(kept_bytes(c, sl_fast_nth(p, SL_ACTION_FORWARD, 0), first, c->pp_rank > 0, &out->kept.ends));
  read_peaks(plan, c, out);
  const double base = persistent_bytes(c);
  out->peak_last.ends = most_live(c, layer_issue(p, last, stage->first_layer), first_issue(p, step), base);
  out->peak_step.ends = most_live(c, first_issue(p, step), p->issue_count, base);
  for (size_t i = 0; i < c->buffer_count; i++) {
    const struct sl_buffer *b = &c->buffers[i];
    out->states += b->persistent && b->category == SL_CATEGORY_OPTIMIZER;
    out->gradient += b->persistent && b->category == SL_CATEGORY_GRADIENT ? (int)sl_dtype_bytes(b->dtype) : 0;
  }
  return SL_OK;
}

/* Bytes in use after an op, and the most of them up to the end of its block. */
struct after {
  double now, most;
};

/* Records what is in use after an op, for the tensors whose gradients it writes. number[t]: which of the stage's tensors
 * t is; only: see sl_fast_tensor.now. */
static void leave(const struct sl_plan *plan, const struct sl_class *c, const struct sl_op *op, const int32_t *number,
                  struct after after, int only, struct sl_fast_stage *out) {
  const struct sl_pp_rank *rank = &plan->pp_ranks[c->pp_rank];
  const struct sl_slice *slices = sl_op_slices(&c->programs[SL_PROGRAM_STEP], op);
  for (int i = 0; i < op->slice_count; i++)
    for (int t = 0; t < rank->tensor_count && sl_fast_writes_gradient(c, &slices[i]); t++) {
      if (number[t] < 0 || !sl_fast_touches(c, &slices[i], &rank->tensors[t])) continue;
      struct sl_fast_tensor *x = &out->tensor[number[t]];
      if (x->where < 0) continue; /* the head writes the gradients of tied embeddings */
      /* the op that comes first in the walk completes the gradient */
      if (x->now[only].ends == 0) x->now[only].ends = after.now;
      raise(&x->left[only], after.most);
    }
}

/* The issue of the first op from `i` on that writes a gradient. */
static size_t first_gradient(const struct sl_program *p, const struct sl_class *c, size_t i) {
  for (; i < p->issue_count; i++) {
    const struct sl_op *op = &p->ops[p->issues[i].op];
    const struct sl_slice *slices = sl_op_slices(p, op);
    for (int s = 0; s < op->slice_count; s++)
      if (sl_fast_writes_gradient(c, &slices[s])) return i;
  }
  return i;
}

/* Walks backward through the issues of a backward, from the end of the topmost block. `base`: bytes that do not count. */
static void walk_back(struct sl_fast_stage *out, const struct sl_plan *plan, const struct sl_class *c,
                      const int32_t *number, int only, double base) {
  const struct sl_program *p = &c->programs[SL_PROGRAM_STEP];
  const struct sl_memory_report *r = &c->memory[SL_SPACE_DEVICE];
  const struct sl_instance *n = sl_fast_nth(p, SL_ACTION_BACKWARD, only ? 0 : SL_FAST_SAMPLED - 1);
  const struct sl_stage *stage = &plan->stages[c->pp_rank];
  const int top = stage->first_layer + stage->layer_count - 1;
  double most = 0, behind = 0;
  size_t k = r->curve_count, i = layer_end(p, n, top);
  const size_t first = first_issue(p, n);
  const size_t under = layer_issue(p, n, top - 1);
  out->under_top[only].ends = most_live(c, under, layer_end(p, n, top - 1), base);
  out->under_top_opens[only].ends = most_live(c, under, first_gradient(p, c, under), base);
  for (; i > first; i--) {
    while (k > 0 && r->curve[k - 1].issue > i - 1) k--;
    const double now = k > 0 ? lives(&r->curve[k - 1]) - base : 0;
    const struct after after = {now < behind ? now : behind, most}; /* a bucket closes after the op */
    leave(plan, c, &p->ops[p->issues[i - 1].op], number, after, only, out);
    if (now > most) most = now;
    behind = now;
  }
}

/* The first backward is that of a step's only micro-batch, but for the other micro-batches in flight. */
enum sl_status sl_fast_read_left(struct sl_fast_stage *out, const struct sl_plan *plan, const struct sl_class *c,
                                 const int32_t *number) {
  const struct sl_program *p = &c->programs[SL_PROGRAM_STEP];
  const double base = persistent_bytes(c), input = c->pp_rank > 0 ? stream_bytes(c) : 0;
  double kept;
  SL_TRY(kept_bytes(c, sl_fast_nth(p, SL_ACTION_FORWARD, 0), sl_fast_nth(p, SL_ACTION_BACKWARD, 0), c->pp_rank > 0,
                    &kept));
  walk_back(out, plan, c, number, 0, base);
  walk_back(out, plan, c, number, 1, base + (plan->pp - c->pp_rank - 1) * kept + input);
  return SL_OK;
}
