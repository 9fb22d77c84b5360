/* Spans of the last step and their union, difference and sums; see timeline.h. */
#include "core/run/timeline.h"

#include <stdlib.h>
#include <string.h>

void sl_timeline_add(struct sl_timeline *timeline, int local, int64_t step, const struct sl_program *program,
                     const struct sl_completion *done) {
  if (program->kind != SL_PROGRAM_STEP || timeline->status != SL_OK) return;
  const size_t need = (size_t)local + 1;
  timeline->status = sl_grow(&timeline->ranks, &timeline->capacity, need, sizeof *timeline->ranks);
  if (timeline->status != SL_OK) return;
  if (timeline->count < need) timeline->count = need;
  struct sl_timeline_rank *rank = &timeline->ranks[local];
  if (rank->step != step) rank->count = 0;
  rank->step = step;
  timeline->status = sl_grow(&rank->spans, &rank->capacity, rank->count + 1, sizeof *rank->spans);
  if (timeline->status != SL_OK) return;
  const struct sl_op *op = &program->ops[program->issues[done->index].op];
  rank->spans[rank->count++] = (struct sl_span){.start_s = done->start_s,
                                                .end_s = done->end_s,
                                                .lane = (uint8_t)op->lane,
                                                .op_class = (uint8_t)sl_op_class_of(op->kind),
                                                .group = (uint8_t)op->group};
}

struct interval {
  double start, end;
};

struct intervals {
  struct interval *at;
  size_t count;
};

static int by_start(const void *a, const void *b) {
  const struct interval *x = a, *y = b;
  return (x->start > y->start) - (x->start < y->start);
}

/* Sort and merge in place: afterwards disjoint and increasing. */
static void merge(struct intervals *set) {
  bool sorted = true; /* one lane's are, and sorting them again would be most of the work */
  for (size_t i = 1; i < set->count && sorted; i++) sorted = set->at[i - 1].start <= set->at[i].start;
  if (!sorted) qsort(set->at, set->count, sizeof *set->at, by_start);
  size_t n = 0;
  for (size_t i = 0; i < set->count; i++) {
    if (n > 0 && set->at[i].start <= set->at[n - 1].end) {
      if (set->at[i].end > set->at[n - 1].end) set->at[n - 1].end = set->at[i].end;
    } else {
      set->at[n++] = set->at[i];
    }
  }
  set->count = n;
}

static double total(const struct intervals *set) {
  double sum = 0;
  for (size_t i = 0; i < set->count; i++) sum += set->at[i].end - set->at[i].start;
  return sum;
}

/* Seconds of `a` that `b` does not cover; both merged. */
static double outside(const struct intervals *a, const struct intervals *b) {
  double sum = 0;
  size_t j = 0;
  for (size_t i = 0; i < a->count; i++) {
    double from = a->at[i].start;
    const double end = a->at[i].end;
    while (j < b->count && b->at[j].end <= from) j++;
    for (size_t k = j; k < b->count && b->at[k].start < end; k++) {
      if (b->at[k].start > from) sum += b->at[k].start - from;
      if (b->at[k].end > from) from = b->at[k].end;
    }
    if (end > from) sum += end - from;
  }
  return sum;
}

enum pick { PICK_COMPUTE, PICK_OWN, PICK_ALL, PICK_COMMUNICATION, PICK_P2P, PICK_GROUP };

/* Does a collective join ranks of one stage only? In the others, what a rank waits for is another stage. */
static bool inside_stage(int group) {
  return group != SL_GROUP_MODEL && group != SL_GROUP_WORLD && group != SL_GROUP_EMBED;
}

static bool picked(const struct sl_span *span, enum pick pick, int group) {
  const bool p2p = span->op_class == SL_CLASS_P2P, collective = span->op_class == SL_CLASS_COLLECTIVE;
  switch (pick) {
  case PICK_COMPUTE:
    return span->lane == SL_LANE_COMPUTE;
  case PICK_OWN:
    return span->lane == SL_LANE_COMPUTE || (collective && inside_stage(span->group));
  case PICK_ALL:
    return true;
  case PICK_COMMUNICATION:
    return p2p || collective;
  case PICK_P2P:
    return p2p;
  case PICK_GROUP:
    return collective && span->group == group;
  }
  return false;
}

static void select_spans(struct intervals *out, const struct sl_timeline_rank *rank, enum pick pick, int group) {
  out->count = 0;
  for (size_t i = 0; i < rank->count; i++)
    if (picked(&rank->spans[i], pick, group))
      out->at[out->count++] = (struct interval){rank->spans[i].start_s, rank->spans[i].end_s};
  merge(out);
}

enum sl_status sl_timeline_breakdown(const struct sl_timeline *timeline, int local, struct sl_breakdown *out) {
  memset(out, 0, sizeof *out);
  if (timeline->status != SL_OK) return sl_fail(timeline->status, "out of memory: the timeline");
  if ((size_t)local >= timeline->count || timeline->ranks[local].count == 0) return SL_OK;
  const struct sl_timeline_rank *rank = &timeline->ranks[local];
  struct intervals compute = {0}, other = {0};
  enum sl_status status;
  SL_GO(sl_calloc(&compute.at, rank->count, sizeof *compute.at));
  SL_GO(sl_calloc(&other.at, rank->count, sizeof *other.at));
  for (size_t i = 0; i < rank->count; i++)
    out->busy_s[rank->spans[i].op_class] += rank->spans[i].end_s - rank->spans[i].start_s;
  select_spans(&compute, rank, PICK_COMPUTE, 0);
  out->compute_s = total(&compute);
  for (int group = SL_GROUP_NONE + 1; group < SL_GROUP_COUNT; group++) {
    select_spans(&other, rank, PICK_GROUP, group);
    out->exposed_s[group] = outside(&other, &compute);
  }
  select_spans(&other, rank, PICK_P2P, 0);
  out->exposed_s[SL_GROUP_NONE] = outside(&other, &compute);
  select_spans(&other, rank, PICK_COMMUNICATION, 0);
  out->exposed_all_s = outside(&other, &compute);
  select_spans(&other, rank, PICK_ALL, 0);
  out->step_s = other.at[other.count - 1].end - other.at[0].start;
  out->idle_s = out->step_s - total(&other);
  select_spans(&other, rank, PICK_OWN, 0);
  out->bubble_s = out->step_s - total(&other);
done:
  free(compute.at);
  free(other.at);
  return status;
}

static double duration(const struct sl_timeline_rank *rank) {
  double start = 0, end = 0;
  for (size_t i = 0; i < rank->count; i++) {
    if (i == 0 || rank->spans[i].start_s < start) start = rank->spans[i].start_s;
    if (i == 0 || rank->spans[i].end_s > end) end = rank->spans[i].end_s;
  }
  return end - start;
}

enum sl_status sl_timeline_bubble(const struct sl_timeline *timeline, int local, double *compute_s, double *bubble_s) {
  *compute_s = *bubble_s = 0;
  if (timeline->status != SL_OK) return sl_fail(timeline->status, "out of memory: the timeline");
  if ((size_t)local >= timeline->count || timeline->ranks[local].count == 0) return SL_OK;
  const struct sl_timeline_rank *rank = &timeline->ranks[local];
  struct intervals set = {0};
  SL_TRY(sl_calloc(&set.at, rank->count, sizeof *set.at));
  select_spans(&set, rank, PICK_COMPUTE, 0);
  *compute_s = total(&set);
  select_spans(&set, rank, PICK_OWN, 0);
  *bubble_s = duration(rank) - total(&set);
  free(set.at);
  return SL_OK;
}

int sl_timeline_slowest(const struct sl_timeline *timeline) {
  int slowest = 0;
  for (size_t i = 1; i < timeline->count; i++)
    if (duration(&timeline->ranks[i]) > duration(&timeline->ranks[slowest])) slowest = (int)i;
  return slowest;
}

void sl_timeline_free(struct sl_timeline *timeline) {
  for (size_t i = 0; i < timeline->count; i++) free(timeline->ranks[i].spans);
  free(timeline->ranks);
  memset(timeline, 0, sizeof *timeline);
}
