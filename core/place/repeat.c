/* The steady part of a schedule; see repeat.h. A period is looked for in the middle, where every schedule is in it if it ever
 * is, and then followed to both sides. */
#include "core/place/repeat.h"

#include <string.h>

static bool same_slots(const struct sl_program *p, const struct sl_instance *a, const struct sl_instance *b,
                       int32_t numbers) {
  return memcmp(&p->slots[a->slots], &p->slots[b->slots], (size_t)numbers * sizeof *p->slots) == 0;
}

/* Is instance `at` the same as the one a period later? */
static bool repeats(const struct sl_program *p, uint32_t at, const struct sl_repeat *r, int32_t numbers) {
  const struct sl_instance *a = &p->instances[at], *b = &p->instances[at + r->period];
  if (a->first_op != b->first_op || a->op_count != b->op_count || a->action.kind == SL_ACTION_STEP) return false;
  const int32_t further = a->micro_batch >= 0 ? r->micro_batches : 0;
  return b->micro_batch - a->micro_batch == further && same_slots(p, a, b, numbers);
}

static bool is_period(const struct sl_program *p, uint32_t middle, const struct sl_repeat *r, int32_t numbers) {
  if (p->instances[middle].first_op != p->instances[middle + r->period].first_op) return false;
  for (uint32_t i = 0; i < r->period; i++)
    if (!repeats(p, middle + i, r, numbers)) return false;
  return true;
}

struct sl_repeat sl_repeat_find(const struct sl_program *p, int32_t numbers) {
  struct sl_repeat r = {0};
  const uint32_t count = (uint32_t)p->instance_count, middle = count / 2;
  for (r.period = 1; middle + 2 * r.period < count; r.period++) {
    r.micro_batches = p->instances[middle + r.period].micro_batch - p->instances[middle].micro_batch;
    if (is_period(p, middle, &r, numbers)) break;
  }
  if (middle + 2 * r.period >= count) return (struct sl_repeat){0};
  r.first = middle;
  while (r.first > 0 && repeats(p, r.first - 1, &r, numbers)) r.first--;
  r.end = middle + 2 * r.period;
  while (r.end < count && repeats(p, r.end - r.period, &r, numbers)) r.end++;
  return r;
}
