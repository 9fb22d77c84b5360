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

/* What an op does with an operand, found once for all of its issues. */
struct sl_use {
  int64_t lo, hi; /* the bytes of a slot that it may touch on any rank of the class */
  uint32_t slot;  /* the first of the buffer's, in class->slot_offsets */
  int32_t number; /* which of an instance's slot numbers says how many slots further; -1: none */
  int32_t buffer;
  bool writes;
  bool lives;    /* it has lifetimes: the buffer is not persistent */
  bool pieces;   /* ... those of its pieces */
  bool of_micro; /* ... one per micro-batch */
  bool renews;   /* ... a new one begins, unless the same op reads the content of before */
};

/* How far a program is linked: issues, and ops of each lane. */
struct sl_mark {
  uint32_t issue, lane_ops[SL_LANE_COUNT];
};

struct linker {
  const struct sl_plan *plan;
  struct sl_class *rank_class;
  const enum sl_scope *scopes;
  struct sl_program *p;
  struct sl_lives *lives;
  bool repeated;                /* sl_build_options.repeated */
  struct sl_history *histories; /* one per slot of the class */
  struct sl_span *first_spans;  /* one per slot, where a history of no more than one span lies */
  int32_t *last_life;           /* newest life of each slot in this program, -1 none */
  /* SL_LANE_COUNT per row, of which every issue that is not copied has one: ops that are complete for certain at its
   * start */
  uint32_t *clocks;
  struct sl_use *uses; /* one per operand: those of an op from first_use[op] on */
  uint32_t *first_use;
  uint32_t *lane_rows[SL_LANE_COUNT]; /* the row of each op of a lane */
  size_t lane_capacity[SL_LANE_COUNT];
  struct sl_mark kept, copied;      /* copies: how much they are, behind what rows stay as they were */
  int places[SL_GROUP_COUNT];       /* ranks of the class's group of each kind */
  uint32_t blocking[SL_LANE_COUNT]; /* what the next compute op must wait for ... */
  uint32_t blocks;                  /* ... bit l: on lane l */
};

/* Adds `by` to what is known. Of a lane of which nothing is known, no more becomes known by going on. */
static inline void sl_clock_advance(uint32_t clock[SL_LANE_COUNT], const uint32_t by[SL_LANE_COUNT]) {
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) clock[lane] += by[lane] & -(uint32_t)(clock[lane] != 0);
}

/* The clock of an issue that is not copied, at the end of what is linked. */
static inline uint32_t *sl_clock_of(const struct linker *k, uint32_t issue) {
  return &k->clocks[(size_t)(issue - k->copied.issue) * SL_LANE_COUNT];
}

/* An issue that is not part of a repetition in front of it. */
static inline struct sl_issue *sl_issue_at(const struct linker *k, uint32_t issue) {
  return &k->p->issues[issue - sl_issues_repeated(k->p)];
}

/* Where lane_rows has op `op` of a lane. */
static inline uint32_t sl_lane_place(const struct linker *k, int lane, uint32_t op) {
  return op < k->kept.lane_ops[lane] ? op : op - k->copied.lane_ops[lane];
}

/* The row of op `count - 1` of `lane`. Rows are in the order of issues. */
static inline uint32_t sl_row_behind(const struct linker *k, int lane, uint32_t count) {
  return k->lane_rows[lane][sl_lane_place(k, lane, count - 1)];
}

/* What is known when that op starts. */
static inline const uint32_t *sl_clock_behind(const struct linker *k, int lane, uint32_t count) {
  return &k->clocks[(size_t)sl_row_behind(k, lane, count) * SL_LANE_COUNT];
}

/* The slot that an instance uses, in class->slot_offsets. */
static inline uint32_t sl_use_slot(const struct sl_use *use, const struct sl_program *p, const struct sl_instance *n) {
  return use->number < 0 ? use->slot : use->slot + (uint32_t)p->slots[n->slots + use->number];
}
