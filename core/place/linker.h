/* Derives the waits of a program: the state as it goes from op to op. Internal to core/place. */
#pragma once

#include "core/place/lives.h"

/* A range of bytes of one slot with the same history. */
struct sl_span {
  int64_t lo, hi;
  int writer_lane;              /* -1: never written in this program */
  uint32_t written;             /* ops of that lane that must be complete to see the write */
  uint32_t readers;             /* bit l: lane l has read it since */
  uint32_t read[SL_LANE_COUNT]; /* the same for those readers; undefined for other lanes */
};

/* Sorted, disjoint spans: the first `low` before a gap, the others at the end of the array. Backwards access tensors in
 * a similar order as forwards, so the gap seldom moves far. */
struct sl_history {
  struct sl_span *spans;
  size_t count, low, capacity;
};

static inline struct sl_span *sl_span_at(const struct sl_history *h, size_t i) {
  return &h->spans[i < h->low ? i : i + h->capacity - h->count];
}

struct linker {
  const struct sl_plan *plan;
  struct sl_class *rank_class;
  const enum sl_scope *scopes;
  struct sl_program *p;
  struct sl_lives *lives;
  bool repeated;                       /* sl_build_options.repeated */
  struct sl_history *histories;        /* one per slot of the class */
  struct sl_span *first_spans;         /* one per slot, where a history of no more than one span lies */
  int32_t *last_life;                  /* newest life of each slot in this program, -1 none */
  uint32_t *clocks;                    /* SL_LANE_COUNT per issue: ops that are complete for certain at its start */
  uint32_t *lane_issue[SL_LANE_COUNT]; /* issue index of each op of a lane */
  size_t lane_capacity[SL_LANE_COUNT];
  int places[SL_GROUP_COUNT];       /* ranks of the class's group of each kind */
  uint32_t blocking[SL_LANE_COUNT]; /* what the next compute op must wait for ... */
  uint32_t blocks;                  /* ... bit l: on lane l */
};

/* Makes room for `more` lifetimes in k->lives. Errors: SL_ERR_MEMORY. */
enum sl_status sl_waits_room(struct linker *k, size_t more);
