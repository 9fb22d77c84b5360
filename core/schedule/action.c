/* The storage of a schedule; see action.h. */
#include "core/schedule/action.h"

#include <stdlib.h>
#include <string.h>

enum sl_status sl_schedule_open(struct sl_schedule *s, int ranks, int stages, int micro_batches) {
  enum sl_status status;
  *s = (struct sl_schedule){.ranks = ranks, .stages = stages, .micro_batches = micro_batches};
  SL_GO_FAIL(sl_calloc(&s->stage_rank, (size_t)stages, sizeof *s->stage_rank));
  SL_GO_FAIL(sl_calloc(&s->actions, (size_t)ranks, sizeof *s->actions));
  SL_GO_FAIL(sl_calloc(&s->counts, (size_t)ranks, sizeof *s->counts));
  SL_GO_FAIL(sl_calloc(&s->capacities, (size_t)ranks, sizeof *s->capacities));
  return SL_OK;
fail:
  sl_schedule_free(s);
  return status;
}

/* Grows an array of `had` items to `ranks`. */
static enum sl_status widen(void *items, int had, int ranks, size_t size) {
  size_t capacity = (size_t)had;
  void *block;
  SL_TRY(sl_grow(items, &capacity, (size_t)ranks, size));
  memcpy(&block, items, sizeof block);
  memset((char *)block + (size_t)had * size, 0, (size_t)(ranks - had) * size);
  return SL_OK;
}

enum sl_status sl_schedule_add_idle(struct sl_schedule *s, int more) {
  const int ranks = s->ranks + more;
  SL_TRY(widen(&s->actions, s->ranks, ranks, sizeof *s->actions));
  SL_TRY(widen(&s->counts, s->ranks, ranks, sizeof *s->counts));
  SL_TRY(widen(&s->capacities, s->ranks, ranks, sizeof *s->capacities));
  s->ranks = ranks;
  return SL_OK;
}

void sl_schedule_free(struct sl_schedule *s) {
  for (int i = 0; s->actions != NULL && i < s->ranks; i++) free(s->actions[i]);
  free(s->stage_rank);
  free(s->actions);
  free(s->counts);
  free(s->capacities);
  *s = (struct sl_schedule){0};
}
