/* Records the last period once more, for itself; see added.h. */
#include "core/place/added.h"

#include <stdlib.h>

enum sl_status sl_added_open(struct sl_added *added, const struct sl_periods *s) {
  struct linker view = *s->k;
  const struct sl_mark *here = &s->marks[s->count - 1];
  const size_t slots = view.rank_class->slot_count;
  *added = (struct sl_added){.step = sl_mark_distance(here - 1, here, 1), .micro_batches = s->r.micro_batches};
  for (int lane = 0; lane < SL_LANE_COUNT; lane++)
    if (added->step.lane_ops[lane] > 0) added->lanes |= UINT32_C(1) << lane;
  SL_TRY(sl_malloc(&added->newest, slots, sizeof *added->newest));
  for (size_t i = 0; i < slots; i++) added->newest[i] = -1;
  view.lives = &added->pieces;
  view.last_life = added->newest;
  for (uint32_t issue = here[-1].issue; issue < here->issue; issue++) SL_TRY(sl_lives_record(&view, issue));
  return SL_OK;
}

void sl_added_close(struct sl_added *added) {
  free(added->pieces.items);
  free(added->newest);
}

const struct sl_life *sl_added_newest(const struct sl_added *added, uint32_t slot) {
  return added->newest[slot] >= 0 ? &added->pieces.items[added->newest[slot]] : NULL;
}

const struct sl_life *sl_added_oldest(const struct sl_added *added, uint32_t slot) {
  const struct sl_life *piece = sl_added_newest(added, slot);
  while (piece != NULL && piece->before >= 0) piece = &added->pieces.items[piece->before];
  return piece;
}

bool sl_added_begins(const struct sl_periods *s, const struct sl_life *piece) {
  const struct linker *k = s->k;
  if (piece->before >= 0) return true;
  for (int32_t i = k->last_life[piece->slot]; i >= 0 && k->lives->items[i].first >= piece->first;) {
    if (k->lives->items[i].first == piece->first) return true;
    i = k->lives->items[i].before;
  }
  return false;
}

struct sl_life sl_added_shifted(const struct sl_added *added, const struct sl_life *life, int64_t periods) {
  const uint32_t times = (uint32_t)periods;
  struct sl_life out = *life;
  out.first += times * added->step.issue;
  out.last += times * added->step.issue;
  for (uint32_t lanes = added->lanes; lanes != 0; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(lanes);
    const uint32_t by = times * added->step.lane_ops[lane];
    if (out.known[lane] > 0) out.known[lane] += by; /* as sl_clock_advance does */
    if (out.lanes >> lane & 1) out.done[lane] += by;
  }
  if (out.micro_batch >= 0) out.micro_batch += (int32_t)periods * added->micro_batches;
  return out;
}

void sl_added_join(struct sl_life *earlier, const struct sl_life *later) {
  earlier->last = later->last;
  earlier->lanes |= later->lanes;
  for (int lane = 0; lane < SL_LANE_COUNT; lane++)
    earlier->known[lane] = later->known[lane] < earlier->known[lane] ? later->known[lane] : earlier->known[lane];
  for (uint32_t lanes = later->lanes; lanes != 0; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(lanes);
    earlier->done[lane] = later->done[lane];
  }
}
