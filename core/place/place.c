/* Waits, then offsets; see place.h. */
#include "core/place/place.h"

#include "core/place/arena.h"
#include "core/place/reserve.h"
#include "core/place/waits.h"

#include <stdlib.h>

/* Nothing is added to a placed program. */
static enum sl_status give_back(struct sl_program *p) {
  SL_TRY(sl_shrink(&p->ops, &p->op_capacity, p->op_count, sizeof *p->ops));
  SL_TRY(sl_shrink(&p->slices, &p->slice_capacity, p->slice_count, sizeof *p->slices));
  SL_TRY(sl_shrink(&p->instances, &p->instance_capacity, p->instance_count, sizeof *p->instances));
  SL_TRY(sl_shrink(&p->issues, &p->issue_capacity, p->issue_count, sizeof *p->issues));
  SL_TRY(sl_shrink(&p->waits, &p->wait_capacity, p->wait_count, sizeof *p->waits));
  return sl_shrink(&p->slots, &p->slot_capacity, p->slot_count, sizeof *p->slots);
}

static int by_first(const void *a, const void *b) {
  const struct sl_life *x = a, *y = b;
  if (x->first != y->first) return x->first < y->first ? -1 : 1;
  return (x->slot > y->slot) - (x->slot < y->slot);
}

/* Lives come in order but for those that were moved behind copied periods. */
static void sort_lives(const struct sl_lives *lives, size_t from) {
  for (size_t i = from + 1; i < lives->count; i++)
    if (lives->items[i].first < lives->items[i - 1].first) {
      qsort(&lives->items[from], lives->count - from, sizeof *lives->items, by_first);
      return;
    }
}

enum sl_status sl_place_class(const struct sl_plan *plan, const enum sl_scope *scopes, bool curve, struct sl_class *c) {
  enum sl_status status;
  struct sl_lives lives = {0};
  for (int k = 0; k < SL_PROGRAM_COUNT; k++) {
    const size_t before = lives.count;
    SL_GO(sl_waits_derive(plan, c, scopes, curve, &c->programs[k], &lives));
    sort_lives(&lives, before);
  }
  c->work.lives = lives.count;
  SL_GO(sl_arena_place(c, &lives, curve));
  if (plan->config->sl.kernels != SL_KERNELS_SHARDLAB) SL_GO(sl_reserve_report(c, &lives));
  for (int k = 0; k < SL_PROGRAM_COUNT; k++) SL_GO(give_back(&c->programs[k]));
done:
  free(lives.items);
  return status;
}
