/* Waits, then offsets; see place.h. */
#include "core/place/place.h"

#include "core/place/arena.h"
#include "core/place/waits.h"

#include <stdlib.h>

enum sl_status sl_place_class(const struct sl_plan *plan, const enum sl_scope *scopes, bool curve, struct sl_class *c) {
  enum sl_status status;
  struct sl_lives lives = {0};
  for (int k = 0; k < SL_PROGRAM_COUNT; k++) SL_GO(sl_waits_derive(plan, c, scopes, curve, &c->programs[k], &lives));
  c->work.lives = lives.count;
  SL_GO(sl_arena_place(c, &lives, curve));
fail:
  free(lives.items);
  return status;
}
