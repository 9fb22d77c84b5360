/* Waits, then offsets; see place.h. */
#include "core/place/place.h"

#include "core/place/arena.h"
#include "core/place/replay.h"
#include "core/place/reserve.h"
#include "core/place/waits.h"
#include "core/plan/communicators.h"
#include "core/plan/kernels.h"

#include <stdlib.h>
#include <string.h>

/* Shrinks the arrays of a placed program, to which nothing is added. */
static enum sl_status give_back(struct sl_program *p) {
  SL_TRY(sl_shrink(&p->ops, &p->op_capacity, p->op_count, sizeof *p->ops));
  SL_TRY(sl_shrink(&p->slices, &p->slice_capacity, p->slice_count, sizeof *p->slices));
  SL_TRY(sl_shrink(&p->instances, &p->instance_capacity, p->instance_count, sizeof *p->instances));
  SL_TRY(sl_shrink(&p->issues, &p->issue_capacity, p->issue_count - sl_issues_repeated(p), sizeof *p->issues));
  SL_TRY(sl_shrink(&p->waits, &p->wait_capacity, p->wait_count, sizeof *p->waits));
  return sl_shrink(&p->slots, &p->slot_capacity, p->slot_count, sizeof *p->slots);
}

static bool in_order(const struct sl_lives *lives, size_t from) {
  for (size_t i = from + 1; i < lives->count; i++)
    if (lives->items[i].first < lives->items[i - 1].first) return false;
  return true;
}

/* A lifetime in a list that is sorted: by first use, then by slot. */
struct entry {
  uint64_t key;
  uint32_t life;
};

/* One pass of a radix sort, which is stable, by eight bits of the key. */
static void deal(const struct entry *from, struct entry *to, size_t count, int shift) {
  uint32_t starts[256] = {0}, next = 0;
  for (size_t i = 0; i < count; i++) starts[from[i].key >> shift & 0xff]++;
  for (int i = 0; i < 256; i++) {
    const uint32_t own = starts[i];
    starts[i] = next;
    next += own;
  }
  for (size_t i = 0; i < count; i++) to[starts[from[i].key >> shift & 0xff]++] = from[i];
}

/* order[i] becomes the number of the i-th lifetime by first use, then by slot. */
static enum sl_status find_order(const struct sl_life *lives, size_t count, uint32_t *order) {
  struct entry *entries;
  uint64_t bits = 0; /* those that are set in any key */
  SL_TRY(sl_malloc(&entries, 2 * count, sizeof *entries));
  struct entry *from = entries, *to = entries + count;
  for (size_t i = 0; i < count; i++) {
    from[i] = (struct entry){(uint64_t)lives[i].first << 32 | lives[i].slot, (uint32_t)i};
    bits |= from[i].key;
  }
  for (int shift = 0; shift < 64; shift += 8) {
    if ((bits >> shift & 0xff) == 0) continue;
    deal(from, to, count, shift);
    struct entry *const sorted = to;
    to = from, from = sorted;
  }
  for (size_t i = 0; i < count; i++) order[i] = from[i].life;
  free(entries);
  return SL_OK;
}

/* The i-th lifetime becomes what the order[i]-th was: round by round, so that each is moved once and no second list of
 * them is needed. `order` is used up. */
static void reorder(struct sl_life *lives, uint32_t *order, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (order[i] == i) continue;
    const struct sl_life first = lives[i];
    size_t at = i;
    while (order[at] != i) {
      const size_t from = order[at];
      lives[at] = lives[from];
      order[at] = (uint32_t)at;
      at = from;
    }
    lives[at] = first;
    order[at] = (uint32_t)at;
  }
}

/* Lifetimes are in order, except those that were moved behind copied periods. */
static enum sl_status sort_lives(const struct sl_lives *lives, size_t from) {
  enum sl_status status;
  uint32_t *order;
  if (in_order(lives, from)) return SL_OK;
  SL_TRY(sl_malloc(&order, lives->count - from, sizeof *order));
  SL_GO(find_order(&lives->items[from], lives->count - from, order));
  reorder(&lives->items[from], order, lives->count - from);
done:
  free(order);
  return status;
}

enum sl_status sl_place_class(const struct sl_plan *plan, const enum sl_scope *scopes,
                              const struct sl_build_options *options, struct sl_class *c) {
  enum sl_status status;
  struct sl_lives lives = {0};
  for (int k = 0; k < SL_PROGRAM_COUNT; k++) {
    const size_t before = lives.count;
    SL_GO(sl_waits_derive(plan, c, scopes, options, &c->programs[k], &lives));
    SL_GO(sort_lives(&lives, before));
  }
  c->work.lives = lives.count;
  SL_GO(sl_arena_place(c, &lives, options));
  if (plan->config->sl.kernels != SL_KERNELS_SHARDLAB && !options->unplaced)
    SL_GO(sl_requests_list(&lives, &c->requests));
  for (int k = 0; k < SL_PROGRAM_COUNT; k++) SL_GO(give_back(&c->programs[k]));
done:
  free(lives.items);
  return status;
}

void sl_place_forget(struct sl_class *c) {
  sl_requests_free(c->requests);
  c->requests = NULL;
}

enum sl_status sl_place_reserve(const struct sl_plan *plan, struct sl_class *c) {
  if (c->requests == NULL) return SL_OK;
  const int64_t room = plan->cluster->device.memory - sl_plan_driver_bytes(plan, c->first_rank);
  const int64_t lead = sl_kernel_set(plan->config->sl.kernels)->host_lead;
  const struct sl_allocations *allocations = sl_allocations_of(plan);
  const enum sl_status status =
      allocations != NULL
          ? sl_replay_report(&c->memory[SL_SPACE_DEVICE], plan, c->pp_rank, allocations, room, lead)
          : sl_reserve_report(c, c->requests, room, lead, plan->config->sl.expandable_segments, sl_reserve_joins(plan));
  sl_place_forget(c);
  return status;
}
