/* Replays a program's buffers as requests to an allocator; see reserve.h. The second step starts with what the first
 * left allocated, and is the one that all later steps repeat. */
#include "core/place/reserve.h"

#include "core/place/allocator.h"
#include "core/program/memory_report.h"

#include <stdlib.h>

enum { STEPS = 2 };

struct replay {
  const struct sl_class *c;
  const struct sl_request *lives; /* of the step, by first use */
  size_t count;
  uint32_t *ends;   /* (count) issues after which the blocks of the lifetimes can be reused */
  uint32_t *by_end; /* (count) */
  uint32_t *blocks; /* (count) of lifetimes that have not ended */
  int32_t *head; /* (count) of a piece's lifetime: the first one of the pieces with which it is one request; -1: none */
  int64_t *bytes; /* (count) of the request; 0: it is another one's, or of another memory */
  bool expandable;
  struct sl_allocator allocator;
};

static int32_t whole_of(const struct replay *r, size_t life) {
  int32_t buffer = r->lives[life].buffer;
  while (r->c->buffers[buffer].piece) buffer--;
  return buffer;
}

static int64_t bytes_of(const struct replay *r, size_t life, int32_t whole) {
  const bool joined = r->head[life] >= 0;
  const struct sl_buffer *b = &r->c->buffers[joined ? whole : r->lives[life].buffer];
  return b->space == SL_SPACE_DEVICE && (!joined || r->head[life] == (int32_t)life) ? b->bytes : 0;
}

/* Pieces of one buffer become one request, which comes with the first of them. */
static enum sl_status join(struct replay *r, bool joins) {
  int32_t *first;
  SL_TRY(sl_calloc(&first, r->c->buffer_count + 1, sizeof *first));
  for (size_t i = 0; i < r->count; i++) {
    const int32_t whole = whole_of(r, i);
    const bool piece = joins && whole != r->lives[i].buffer;
    if (piece && first[whole] == 0) first[whole] = (int32_t)i + 1;
    r->head[i] = piece ? first[whole] - 1 : -1;
    r->bytes[i] = bytes_of(r, i, whole);
  }
  free(first);
  return SL_OK;
}

/* A request ends with the last of its pieces. */
static void end_together(struct replay *r) {
  for (size_t i = 0; i < r->count; i++)
    if (r->head[i] >= 0 && r->ends[r->head[i]] < r->ends[i]) r->ends[r->head[i]] = r->ends[i];
}

static enum sl_status take_persistent(struct replay *r) {
  uint32_t block;
  for (size_t i = 0; i < r->c->buffer_count; i++) {
    const struct sl_buffer *b = &r->c->buffers[i];
    for (int s = 0; s < b->slots && b->persistent && b->space == SL_SPACE_DEVICE && b->bytes > 0; s++)
      SL_TRY(sl_allocator_take(&r->allocator, b->bytes, &block));
  }
  return SL_OK;
}

/* Each compute op launches one kernel; a pass launches as many as it stands for. */
static int64_t launches_of(const struct sl_op *op) {
  if (op->lane != SL_LANE_COMPUTE) return 0;
  return op->kind == SL_OP_PASS ? op->dim[1] : 1;
}

/* What a collective or a message has used becomes free when the device has completed it, while the host requests memory
 * up to `lead` kernels ahead of the device: torch's ProcessGroupNCCL records its stream with every tensor. At the end
 * of a step the host waits for the device. */
static enum sl_status find_ends(struct replay *r, int64_t lead) {
  const struct sl_program *p = &r->c->programs[SL_PROGRAM_STEP];
  int64_t *launched;
  if (r->ends == NULL) SL_TRY(sl_calloc(&r->ends, r->count, sizeof *r->ends));
  for (size_t i = 0; i < r->count; i++) r->ends[i] = r->lives[i].last;
  if (lead == 0) return end_together(r), SL_OK;
  SL_TRY(sl_calloc(&launched, p->issue_count + 1, sizeof *launched));
  struct sl_issue_ref at = sl_issue_find(p, 0);
  for (size_t i = 0; i < p->issue_count; i++, sl_issue_next(p, &at))
    launched[i + 1] = launched[i] + launches_of(&p->ops[at.stored->op]);
  for (size_t i = 0; i < r->count; i++) {
    const uint32_t last = r->lives[i].last;
    if ((r->lives[i].lanes & ~(UINT32_C(1) << SL_LANE_COMPUTE)) == 0) continue;
    size_t low = last, high = p->issue_count - 1; /* the last issue that the host has reached by then */
    while (low < high) {
      const size_t middle = (low + high + 1) / 2;
      if (launched[middle + 1] - launched[last + 1] <= lead)
        low = middle;
      else
        high = middle - 1;
    }
    r->ends[i] = (uint32_t)low;
  }
  free(launched);
  end_together(r);
  return SL_OK;
}

/* Sorts lifetimes by their ends, and those with the same end by their beginnings. */
static enum sl_status order_ends(struct replay *r) {
  const size_t issues = r->c->programs[SL_PROGRAM_STEP].issue_count;
  uint32_t *next;
  SL_TRY(sl_calloc(&next, issues + 1, sizeof *next));
  for (size_t i = 0; i < r->count; i++) next[r->ends[i] + 1]++;
  for (size_t i = 0; i < issues; i++) next[i + 1] += next[i];
  for (size_t i = 0; i < r->count; i++) r->by_end[next[r->ends[i]]++] = (uint32_t)i;
  free(next);
  return SL_OK;
}

/* A buffer is allocated before the op of its first use and freed after that of its last. */
static enum sl_status step(struct replay *r) {
  size_t ended = 0;
  for (size_t i = 0; i <= r->count; i++) {
    while (ended < r->count && (i == r->count || r->ends[r->by_end[ended]] < r->lives[i].first)) {
      const uint32_t over = r->by_end[ended++];
      if (r->bytes[over] > 0) SL_TRY(sl_allocator_give(&r->allocator, r->blocks[over]));
    }
    if (i < r->count && r->bytes[i] > 0) SL_TRY(sl_allocator_take(&r->allocator, r->bytes[i], &r->blocks[i]));
  }
  return SL_OK;
}

/* *reserved, and *taken, which is in use of that: the most of each. */
static enum sl_status replay(struct replay *r, int64_t capacity, int64_t *reserved, int64_t *taken) {
  enum sl_status status;
  r->allocator = (struct sl_allocator){.capacity = capacity, .expandable = r->expandable};
  SL_GO(take_persistent(r));
  for (int i = 0; i < STEPS; i++) SL_GO(step(r));
  *reserved = r->allocator.reserved_peak;
  *taken = r->allocator.taken_peak;
done:
  sl_allocator_free(&r->allocator);
  return status;
}

/* What is reserved on a device with `room` for it. A segment that was given back may have had space for a later
 * request. Where a device has not half of what is in use, that is what it would need at least: to play how its allocator
 * gives everything back again and again would take long and tell no more. */
static enum sl_status replay_within(struct replay *r, int64_t room, int64_t *reserved, int64_t *needed) {
  int64_t taken;
  SL_TRY(order_ends(r));
  SL_TRY(replay(r, 0, reserved, &taken));
  *needed = *reserved;
  if (taken / 2 > room)
    *needed = taken;
  else if (*reserved > room)
    SL_TRY(replay(r, room > 0 ? room : 1, needed, &taken));
  if (*needed > *reserved) *needed = *reserved;
  return SL_OK;
}

bool sl_reserve_joins(const struct sl_plan *plan) {
  return plan->n_micro > 1 && !plan->config->sl.expandable_segments;
}

enum sl_status sl_requests_list(const struct sl_lives *lives, struct sl_requests **out) {
  struct sl_requests *r;
  size_t first = 0, end;
  while (first < lives->count && lives->items[first].program != SL_PROGRAM_STEP) first++;
  for (end = first; end < lives->count && lives->items[end].program == SL_PROGRAM_STEP;) end++;
  SL_TRY(sl_malloc(&r, sizeof *r + (end - first) * sizeof *r->items, 1));
  r->count = end - first;
  for (size_t i = 0; i < r->count; i++) {
    const struct sl_life *life = &lives->items[first + i];
    r->items[i] = (struct sl_request){life->first, life->last, life->lanes, life->buffer};
  }
  *out = r;
  return SL_OK;
}

void sl_requests_free(struct sl_requests *requests) {
  free(requests);
}

enum sl_status sl_reserve_report(struct sl_class *c, const struct sl_requests *requests, int64_t room, int64_t lead,
                                 bool expandable, bool joins) {
  struct replay r = {.c = c, .lives = requests->items, .count = requests->count, .expandable = expandable};
  struct sl_memory_report *report = &c->memory[SL_SPACE_DEVICE];
  enum sl_status status;
  int64_t unled;
  SL_GO(sl_calloc(&r.by_end, r.count, sizeof *r.by_end));
  SL_GO(sl_calloc(&r.blocks, r.count, sizeof *r.blocks));
  SL_GO(sl_calloc(&r.head, r.count, sizeof *r.head));
  SL_GO(sl_calloc(&r.bytes, r.count, sizeof *r.bytes));
  SL_GO(join(&r, joins));
  SL_GO(find_ends(&r, lead));
  SL_GO(replay_within(&r, room, &report->reserved_bytes, &report->needed_bytes));
  for (int i = 0; i < SL_PACES; i++) report->needed_at[i] = report->needed_bytes;
  if (lead == 0) goto done;
  SL_GO(find_ends(&r, 0));
  SL_GO(replay_within(&r, room, &unled, &report->needed_at[SL_PACES - 1]));
done:
  free(r.ends);
  free(r.by_end);
  free(r.blocks);
  free(r.head);
  free(r.bytes);
  return status;
}
