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

/* starts[i] becomes the sum of all counts before i, which were in starts[i + 1]. */
static void sum_up(uint32_t *starts, size_t count) {
  for (size_t i = 0; i < count; i++) starts[i + 1] += starts[i];
}

/* Sorts the lifetimes from `from` on by first use, then by slot: a radix sort by slot, then by first use, both
 * stable. */
static enum sl_status deal(const struct sl_lives *lives, size_t from, size_t slots, size_t issues, uint32_t *order) {
  enum sl_status status;
  const size_t count = lives->count - from;
  const struct sl_life *all = &lives->items[from];
  uint32_t *by_slot = NULL, *starts = NULL;
  SL_GO(sl_malloc(&by_slot, count, sizeof *by_slot));
  SL_GO(sl_calloc(&starts, (slots > issues ? slots : issues) + 1, sizeof *starts));
  for (size_t i = 0; i < count; i++) starts[all[i].slot + 1]++;
  sum_up(starts, slots);
  for (size_t i = 0; i < count; i++) by_slot[starts[all[i].slot]++] = (uint32_t)i;
  memset(starts, 0, (issues + 1) * sizeof *starts);
  for (size_t i = 0; i < count; i++) starts[all[i].first + 1]++;
  sum_up(starts, issues);
  for (size_t i = 0; i < count; i++) order[starts[all[by_slot[i]].first]++] = by_slot[i];
done:
  free(by_slot);
  free(starts);
  return status;
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
static enum sl_status sort_lives(const struct sl_class *c, const struct sl_program *p, const struct sl_lives *lives,
                                 size_t from) {
  enum sl_status status;
  uint32_t *order;
  if (in_order(lives, from)) return SL_OK;
  SL_TRY(sl_malloc(&order, lives->count - from, sizeof *order));
  SL_GO(deal(lives, from, c->slot_count, p->issue_count, order));
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
    SL_GO(sort_lives(c, &c->programs[k], &lives, before));
  }
  c->work.lives = lives.count;
  SL_GO(sl_arena_place(c, &lives, options));
  if (plan->config->sl.kernels != SL_KERNELS_SHARDLAB && !options->unplaced) {
    const int64_t room = plan->cluster->device.memory - sl_plan_driver_bytes(plan, c->first_rank);
    const int64_t lead = sl_kernel_set(plan->config->sl.kernels)->host_lead;
    const struct sl_allocations *allocations = sl_allocations_of(plan);
    if (allocations != NULL)
      SL_GO(sl_replay_report(&c->memory[SL_SPACE_DEVICE], plan, c->pp_rank, allocations, room, lead));
    else
      SL_GO(sl_reserve_report(c, &lives, room, lead, plan->config->sl.expandable_segments, sl_reserve_joins(plan)));
  }
  for (int k = 0; k < SL_PROGRAM_COUNT; k++) SL_GO(give_back(&c->programs[k]));
done:
  free(lives.items);
  return status;
}
