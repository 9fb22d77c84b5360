/* See items.h. */
#include "core/place/items.h"

#include <string.h>

int sl_items_by_size(const void *a, const void *b) {
  const struct sl_item *x = *(struct sl_item *const *)a, *y = *(struct sl_item *const *)b;
  if (x->fixed != y->fixed) return x->fixed ? -1 : 1;
  if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
  return x->slot < y->slot ? -1 : 1;
}

int sl_items_by_slot(const void *a, const void *b) {
  const struct sl_item *x = *(struct sl_item *const *)a, *y = *(struct sl_item *const *)b;
  if (x->fixed != y->fixed) return x->fixed ? -1 : 1;
  return x->slot < y->slot ? -1 : 1;
}

int sl_items_by_end(const void *a, const void *b) {
  const struct sl_item *x = *(struct sl_item *const *)a, *y = *(struct sl_item *const *)b;
  if (x->fixed != y->fixed) return x->fixed ? -1 : 1;
  if (x->over != y->over) return x->over > y->over ? -1 : 1;
  return sl_items_by_size(a, b);
}

size_t sl_items_behind(const struct sl_items *l, size_t low, int64_t offset) {
  size_t high = ++low;
  for (size_t step = 1; high < l->count && sl_items_at(l, high)->offset < offset; step *= 2)
    low = high + 1, high += step;
  for (high = high < l->count ? high : l->count; low < high;) {
    const size_t middle = (low + high) / 2;
    if (sl_items_at(l, middle)->offset < offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static void move_gap(struct sl_items *l, size_t to) {
  const size_t gap = l->capacity - l->count;
  if (to < l->low) memmove(&l->all[to + gap], &l->all[to], (l->low - to) * sizeof *l->all);
  if (to > l->low) memmove(&l->all[l->low], &l->all[l->low + gap], (to - l->low) * sizeof *l->all);
  l->low = to;
}

void sl_items_insert(struct sl_items *l, size_t at, struct sl_item *x) {
  move_gap(l, at);
  l->all[l->low++] = x;
  l->count++;
  if (x->offset + x->bytes > l->top) l->top = x->offset + x->bytes;
}

void sl_items_deal(struct sl_items placed[SL_SIZE_CLASSES], const struct sl_item *items, size_t count,
                   struct sl_item **room) {
  for (size_t i = 0; i < count; i++) placed[sl_size_class(items[i].bytes)].capacity++;
  for (int n = 0; n < SL_SIZE_CLASSES; room += placed[n++].capacity) placed[n].all = room;
}
