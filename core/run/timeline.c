/* Intervals of the last step: merged as ops complete, then summed and subtracted; see timeline.h. */
#include "core/run/timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one more interval. In a prediction of many ranks intervals take most of the memory, so the capacity
 * grows only by half, and unused memory is never touched. */
static enum sl_status make_room(struct sl_intervals *set) {
  struct sl_interval *at;
  if (set->count < set->capacity) return SL_OK;
  const size_t capacity = set->capacity + set->capacity / 2 + 16;
  SL_TRY(sl_malloc(&at, capacity, sizeof *at));
  if (set->count > 0) memcpy(at, set->at, set->count * sizeof *at);
  free(set->at);
  set->at = at;
  set->capacity = capacity;
  return SL_OK;
}

/* Ops complete in order, or nearly so: the interval that an op extends is at the end of the list, or near it. */
static enum sl_status insert(struct sl_intervals *set, double start, double end) {
  size_t after = set->count; /* the first one that begins after the new one */
  while (after > 0 && set->at[after - 1].start_s > end) after--;
  size_t first = after;
  for (; first > 0 && set->at[first - 1].end_s >= start; first--) {
    if (set->at[first - 1].start_s < start) start = set->at[first - 1].start_s;
    if (set->at[first - 1].end_s > end) end = set->at[first - 1].end_s;
  }
  if (first == after) SL_TRY(make_room(set));
  memmove(&set->at[first + 1], &set->at[after], (set->count - after) * sizeof *set->at);
  set->at[first] = (struct sl_interval){start, end};
  set->count -= after - first;
  set->count++;
  return SL_OK;
}

/* Most ops continue the last interval, or come after it. */
static inline enum sl_status add(struct sl_intervals *set, double start, double end) {
  struct sl_interval *last = set->count > 0 ? &set->at[set->count - 1] : NULL;
  if (last != NULL && start < last->start_s) return insert(set, start, end);
  if (last != NULL && start <= last->end_s) {
    if (end > last->end_s) last->end_s = end;
    return SL_OK;
  }
  SL_TRY(make_room(set));
  set->at[set->count++] = (struct sl_interval){start, end};
  return SL_OK;
}

/* Does a collective connect only ranks of one stage? In others a rank waits for another stage. */
static bool inside_stage(enum sl_group group) {
  return group != SL_GROUP_MODEL && group != SL_GROUP_WORLD && group != SL_GROUP_EMBED;
}

static enum sl_kept kept_of(const struct sl_op *op, enum sl_op_class op_class) {
  if (op->lane == SL_LANE_COMPUTE) return SL_KEPT_COMPUTE;
  if (op_class == SL_CLASS_COLLECTIVE) return SL_KEPT_GROUP + (enum sl_kept)op->group;
  if (op_class == SL_CLASS_P2P) return SL_KEPT_P2P;
  if (op->lane == SL_LANE_HOST) return SL_KEPT_HOST;
  if (!sl_lane_is_link(op->lane)) return SL_KEPT_GROUP + (enum sl_kept)op->lane;
  return sl_lane_is_nvme(op->lane) ? SL_KEPT_NVME : SL_KEPT_COPIES;
}

static enum sl_status add_op(struct sl_timeline_rank *rank, const struct sl_op *op, double start, double end) {
  const enum sl_op_class op_class = sl_op_class_of(op->kind);
  const enum sl_kept kept = kept_of(op, op_class);
  rank->busy_s[op->lane][op_class] += end - start;
  if (kept == SL_KEPT_COMPUTE || (kept >= SL_KEPT_GROUP && inside_stage(op->group)))
    SL_TRY(add(&rank->kept[SL_KEPT_OWN], start, end));
  return add(&rank->kept[kept], start, end);
}

/* Adds ops of the compute lane, all of which are kept as compute, at once. */
static enum sl_status add_compute(struct sl_timeline_rank *rank, const struct sl_op *ops, const struct sl_stretch *s) {
  const double *times = s->times;
  double *busy = rank->busy_s[SL_LANE_COMPUTE];
  for (uint32_t i = 0; i < s->count; i++) busy[sl_op_class_of(ops[s->issues[i].op].kind)] += times[i + 1] - times[i];
  SL_TRY(add(&rank->kept[SL_KEPT_COMPUTE], times[0], times[s->count]));
  return add(&rank->kept[SL_KEPT_OWN], times[0], times[s->count]);
}

static enum sl_status add_stretch(struct sl_timeline_rank *rank, const struct sl_op *ops, const struct sl_stretch *s) {
  if (ops[s->issues[0].op].lane == SL_LANE_COMPUTE) return add_compute(rank, ops, s);
  for (uint32_t i = 0; i < s->count; i++) SL_TRY(add_op(rank, &ops[s->issues[i].op], s->times[i], s->times[i + 1]));
  return SL_OK;
}

static void begin_step(struct sl_timeline_rank *rank, int64_t step) {
  for (int i = 0; i < SL_KEPT_COUNT; i++) rank->kept[i].count = 0;
  memset(rank->busy_s, 0, sizeof rank->busy_s);
  rank->step = step;
}

enum sl_status sl_timeline_room(struct sl_timeline *timeline, int ranks) {
  const size_t need = (size_t)ranks;
  if (timeline->count >= need) return SL_OK;
  SL_TRY(sl_grow(&timeline->ranks, &timeline->capacity, need, sizeof *timeline->ranks));
  timeline->count = need;
  return SL_OK;
}

/* The rank to which an op is added; NULL: it does not count, or it is lost, as a status says. */
static inline struct sl_timeline_rank *rank_of(struct sl_timeline *timeline, int local, int64_t step,
                                               const struct sl_program *program) {
  if (!sl_program_is_step(program->kind)) return NULL;
  if (timeline->count <= (size_t)local) {
    const enum sl_status status = sl_timeline_room(timeline, local + 1);
    if (status != SL_OK) timeline->status = status;
    if (status != SL_OK) return NULL;
  }
  struct sl_timeline_rank *rank = &timeline->ranks[local];
  if (rank->step != step) begin_step(rank, step);
  return rank->status == SL_OK ? rank : NULL;
}

void sl_timeline_add(struct sl_timeline *timeline, int local, int64_t step, const struct sl_program *program,
                     const struct sl_completion *done) {
  struct sl_timeline_rank *rank = rank_of(timeline, local, step, program);
  if (rank == NULL) return;
  rank->status = add_op(rank, sl_issue_op(program, done->index), done->start_s, done->end_s);
}

void sl_timeline_add_many(struct sl_timeline *timeline, int local, int64_t step, const struct sl_program *program,
                          const struct sl_stretch *stretches, uint32_t count) {
  struct sl_timeline_rank *rank = rank_of(timeline, local, step, program);
  for (uint32_t i = 0; rank != NULL && i < count && rank->status == SL_OK; i++)
    rank->status = add_stretch(rank, program->ops, &stretches[i]);
}

void sl_timeline_forget(struct sl_timeline *timeline) {
  for (size_t i = 0; i < timeline->count; i++) begin_step(&timeline->ranks[i], 0);
}

static double total(const struct sl_intervals *set) {
  double sum = 0;
  for (size_t i = 0; i < set->count; i++) sum += set->at[i].end_s - set->at[i].start_s;
  return sum;
}

/* Seconds of `a` that `b` does not cover. */
static double outside(const struct sl_intervals *a, const struct sl_intervals *b) {
  double sum = 0;
  size_t j = 0;
  for (size_t i = 0; i < a->count; i++) {
    double from = a->at[i].start_s;
    const double end = a->at[i].end_s;
    while (j < b->count && b->at[j].end_s <= from) j++;
    for (size_t k = j; k < b->count && b->at[k].start_s < end; k++) {
      if (b->at[k].start_s > from) sum += b->at[k].start_s - from;
      if (b->at[k].end_s > from) from = b->at[k].end_s;
    }
    if (end > from) sum += end - from;
  }
  return sum;
}

/* Seconds in which anything ran. */
static double joined(const struct sl_timeline_rank *rank) {
  size_t next[SL_KEPT_COUNT] = {0};
  struct sl_interval now = {-INFINITY, -INFINITY};
  double sum = 0;
  for (;;) {
    int first = -1; /* of the sets whose next interval begins first */
    for (int k = 0; k < SL_KEPT_COUNT; k++) {
      const struct sl_intervals *set = &rank->kept[k];
      if (next[k] == set->count) continue;
      if (first < 0 || set->at[next[k]].start_s < rank->kept[first].at[next[first]].start_s) first = k;
    }
    const struct sl_interval *x = first >= 0 ? &rank->kept[first].at[next[first]++] : NULL;
    if (x == NULL || x->start_s > now.end_s) {
      if (now.start_s > -INFINITY) sum += now.end_s - now.start_s;
      if (x == NULL) return sum;
      now = *x;
    } else if (x->end_s > now.end_s) {
      now.end_s = x->end_s;
    }
  }
}

/* From the first op's start to the last one's end. */
static double duration(const struct sl_timeline_rank *rank) {
  double start = INFINITY, end = -INFINITY;
  for (int k = 0; k < SL_KEPT_COUNT; k++) {
    const struct sl_intervals *set = &rank->kept[k];
    if (set->count == 0) continue;
    start = fmin(start, set->at[0].start_s);
    end = fmax(end, set->at[set->count - 1].end_s);
  }
  return end > -INFINITY ? end - start : 0;
}

static int by_start(const void *a, const void *b) {
  const struct sl_interval *x = a, *y = b;
  return (x->start_s > y->start_s) - (x->start_s < y->start_s);
}

/* Seconds of any communication that compute did not hide: groups, pipeline and copies taken together. */
static enum sl_status exposed_by_all(const struct sl_timeline_rank *rank, double *seconds) {
  enum sl_status status;
  struct sl_intervals every = {0}, joined = {0};
  for (int k = SL_KEPT_P2P; k < SL_KEPT_COUNT; k++) every.capacity += rank->kept[k].count;
  SL_GO(sl_calloc(&every.at, every.capacity, sizeof *every.at));
  for (int k = SL_KEPT_P2P; k < SL_KEPT_COUNT; k++)
    for (size_t i = 0; i < rank->kept[k].count; i++) every.at[every.count++] = rank->kept[k].at[i];
  qsort(every.at, every.count, sizeof *every.at, by_start);
  for (size_t i = 0; i < every.count; i++) SL_GO(add(&joined, every.at[i].start_s, every.at[i].end_s));
  *seconds = outside(&joined, &rank->kept[SL_KEPT_COMPUTE]);
done:
  free(every.at);
  free(joined.at);
  return status;
}

/* Was every op of a rank recorded? */
static enum sl_status check_all(const struct sl_timeline *timeline, int local) {
  const bool lost = (size_t)local < timeline->count && timeline->ranks[local].status != SL_OK;
  const enum sl_status status = lost ? timeline->ranks[local].status : timeline->status;
  return status == SL_OK ? SL_OK : sl_fail(status, "out of memory: the timeline");
}

static bool has_ops(const struct sl_timeline *timeline, int local) {
  for (int k = 0; k < SL_KEPT_COUNT && (size_t)local < timeline->count; k++)
    if (timeline->ranks[local].kept[k].count > 0) return true;
  return false;
}

enum sl_status sl_timeline_breakdown(const struct sl_timeline *timeline, int local, struct sl_breakdown *out) {
  memset(out, 0, sizeof *out);
  SL_TRY(check_all(timeline, local));
  if (!has_ops(timeline, local)) return SL_OK;
  const struct sl_timeline_rank *rank = &timeline->ranks[local];
  const struct sl_intervals *kept = rank->kept, *compute = &kept[SL_KEPT_COMPUTE];
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) {
    const bool link = lane == SL_LANE_H2D || lane == SL_LANE_D2H, nvme = sl_lane_is_nvme((enum sl_lane)lane);
    for (int i = 0; i < SL_CLASS_COUNT; i++)
      *(link ? &out->copies_s : nvme ? &out->nvme_s : &out->busy_s[i]) += rank->busy_s[lane][i];
  }
  out->compute_s = total(compute);
  for (int g = SL_GROUP_NONE + 1; g < SL_GROUP_COUNT; g++)
    out->exposed_s[g] = outside(&kept[SL_KEPT_GROUP + g], compute);
  out->exposed_s[SL_GROUP_NONE] = outside(&kept[SL_KEPT_P2P], compute);
  out->exposed_copies_s = outside(&kept[SL_KEPT_COPIES], compute);
  out->exposed_nvme_s = outside(&kept[SL_KEPT_NVME], compute);
  SL_TRY(exposed_by_all(rank, &out->exposed_all_s));
  out->step_s = duration(rank);
  const double ran = joined(rank);
  out->idle_s = out->step_s - ran;
  if (kept[SL_KEPT_HOST].count > 0) out->host_s = ran - out->compute_s - out->exposed_all_s;
  out->bubble_s = out->step_s - total(&kept[SL_KEPT_OWN]);
  return SL_OK;
}

enum sl_status sl_timeline_bubble(const struct sl_timeline *timeline, int local, double *compute_s, double *bubble_s) {
  *compute_s = *bubble_s = 0;
  SL_TRY(check_all(timeline, local));
  if (!has_ops(timeline, local)) return SL_OK;
  const struct sl_timeline_rank *rank = &timeline->ranks[local];
  *compute_s = total(&rank->kept[SL_KEPT_COMPUTE]);
  *bubble_s = duration(rank) - total(&rank->kept[SL_KEPT_OWN]);
  return SL_OK;
}

int sl_timeline_slowest(const struct sl_timeline *timeline) {
  int slowest = 0;
  for (size_t i = 1; i < timeline->count; i++)
    if (duration(&timeline->ranks[i]) > duration(&timeline->ranks[slowest])) slowest = (int)i;
  return slowest;
}

void sl_timeline_free(struct sl_timeline *timeline) {
  for (size_t i = 0; i < timeline->count; i++)
    for (int k = 0; k < SL_KEPT_COUNT; k++) free(timeline->ranks[i].kept[k].at);
  free(timeline->ranks);
  memset(timeline, 0, sizeof *timeline);
}
