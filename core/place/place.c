/* Waits, then offsets; see place.h. */
#include "core/place/place.h"

#include "core/place/arena.h"
#include "core/place/reserve.h"
#include "core/place/waits.h"
#include "core/plan/communicators.h"
#include "core/plan/kernels.h"

#include <stdlib.h>
#include <string.h>

/* Nothing is added to a placed program. */
static enum sl_status give_back(struct sl_program *p) {
  SL_TRY(sl_shrink(&p->ops, &p->op_capacity, p->op_count, sizeof *p->ops));
  SL_TRY(sl_shrink(&p->slices, &p->slice_capacity, p->slice_count, sizeof *p->slices));
  SL_TRY(sl_shrink(&p->instances, &p->instance_capacity, p->instance_count, sizeof *p->instances));
  SL_TRY(sl_shrink(&p->issues, &p->issue_capacity, p->issue_count, sizeof *p->issues));
  SL_TRY(sl_shrink(&p->waits, &p->wait_capacity, p->wait_count, sizeof *p->waits));
  return sl_shrink(&p->slots, &p->slot_capacity, p->slot_count, sizeof *p->slots);
}

/* Where a life stands in the order of first uses. */
struct key {
  uint32_t first, slot;
  size_t at;
};

static int by_first(const void *a, const void *b) {
  const struct key *x = a, *y = b;
  if (x->first != y->first) return x->first < y->first ? -1 : 1;
  return (x->slot > y->slot) - (x->slot < y->slot);
}

static bool in_order(const struct sl_lives *lives, size_t from) {
  for (size_t i = from + 1; i < lives->count; i++)
    if (lives->items[i].first < lives->items[i - 1].first) return false;
  return true;
}

/* Lives come in order but for those that were moved behind copied periods. A life is large: only its key is sorted. */
static enum sl_status sort_lives(struct sl_lives *lives, size_t from) {
  enum sl_status status;
  const size_t count = lives->count - from;
  struct key *keys = NULL;
  struct sl_life *sorted = NULL;
  if (in_order(lives, from)) return SL_OK;
  SL_GO(sl_calloc(&keys, count, sizeof *keys));
  SL_GO(sl_calloc(&sorted, lives->count, sizeof *sorted));
  for (size_t i = 0; i < count; i++)
    keys[i] = (struct key){lives->items[from + i].first, lives->items[from + i].slot, from + i};
  qsort(keys, count, sizeof *keys, by_first);
  memcpy(sorted, lives->items, from * sizeof *sorted);
  for (size_t i = 0; i < count; i++) sorted[from + i] = lives->items[keys[i].at];
  free(lives->items);
  lives->items = sorted;
  lives->capacity = lives->count;
  sorted = NULL;
done:
  free(keys);
  free(sorted);
  return status;
}

enum sl_status sl_place_class(const struct sl_plan *plan, const enum sl_scope *scopes,
                              const struct sl_build_options *options, struct sl_class *c) {
  enum sl_status status;
  struct sl_lives lives = {0};
  for (int k = 0; k < SL_PROGRAM_COUNT; k++) {
    const size_t before = lives.count;
    SL_GO(sl_waits_derive(plan, c, scopes, options->memory_curve, &c->programs[k], &lives));
    SL_GO(sort_lives(&lives, before));
  }
  c->work.lives = lives.count;
  SL_GO(sl_arena_place(c, &lives, options));
  if (plan->config->sl.kernels != SL_KERNELS_SHARDLAB && !options->unplaced) {
    const int64_t room = plan->cluster->device.memory - sl_plan_driver_bytes(plan, c->first_rank);
    SL_GO(sl_reserve_report(c, &lives, room, sl_kernel_set(plan->config->sl.kernels)->host_lead));
  }
  for (int k = 0; k < SL_PROGRAM_COUNT; k++) SL_GO(give_back(&c->programs[k]));
done:
  free(lives.items);
  return status;
}
