/* Buffers that buckets take in turn; see ring.h. */
#include "fast/ring.h"

#include <stdbool.h>

static double larger(double a, double b) {
  return a > b ? a : b;
}

int sl_fast_ring_take(struct sl_fast_ring *r, int64_t count) {
  const int turn = r->buckets++ % r->size;
  if (count > r->most[turn]) r->most[turn] = count;
  return turn;
}

/* Counts `bytes` beside the buffers that are in use when the last noted bucket closes. */
static void keep(struct sl_fast_ring *r, double bytes) {
  double *const besides = r->last.index == 0 ? &r->one : &r->several;
  *besides = larger(*besides, bytes);
}

void sl_fast_ring_note(struct sl_fast_ring *r, double now, double left) {
  keep(r, r->last.left);
  r->last = (struct sl_fast_closed){r->buckets - 1, now, left};
}

void sl_fast_ring_pass(struct sl_fast_ring *r, double most) {
  if (r->buckets > 0) r->last.left = larger(r->last.left, most);
}

/* The elements of the buffer that the last of all buckets has. */
static int64_t last_buffer(const struct sl_fast_ring *r) {
  return r->buckets > 0 ? r->most[(r->buckets - 1) % r->size] : 0;
}

/* The elements of the buffers that stay in use when `closed` buckets have been copied back and others follow. */
static int64_t staying(const struct sl_fast_ring *r, int closed) {
  const int follow = r->buckets - closed;
  if (closed == 0 || follow == 0) return 0;
  if (follow == 1) return r->buckets > r->size ? last_buffer(r) : 0;
  return r->most[0] + (closed > 1 ? r->most[1] : 0);
}

/* While the last bucket but one closes, the buffers of both are in use only if the last one's has been before. */
struct sl_fast_ring_bytes sl_fast_ring_bytes(struct sl_fast_ring *r, double element) {
  struct sl_fast_ring_bytes out = {.all = element * (double)(r->most[0] + r->most[1])};
  const bool last_but_one = r->last.index == r->buckets - 2;
  keep(r, last_but_one ? r->last.now : r->last.left);
  if (last_but_one) out.live = r->last.left + element * (double)staying(r, r->buckets - 1);
  if (r->one > 0) out.live = larger(out.live, r->one + element * (double)r->most[0]);
  if (r->several > 0) out.live = larger(out.live, r->several + out.all);
  out.before = element * (double)staying(r, r->before_lowest);
  out.under = element * (double)staying(r, r->by_blocks);
  out.after = out.last = element * (double)last_buffer(r);
  if (r->buckets - r->by_blocks > 1)
    out.after = r->buckets > 2 ? out.all : larger(out.after, element * (double)r->most[0]);
  return out;
}
