/* The rotating buffers in which gradients are communicated in another type than they are kept in
 * (core/lower/bucket.c: rotating_buffers). A buffer is in use from the cast of its first bucket until its last one is
 * copied back. */
#pragma once

#include <stdint.h>

enum { SL_FAST_RING = 2 };

/* A bucket that has closed, and the bytes in use besides the buffers: then, and the most up to the end of the last block
 * before the next one closes. */
struct sl_fast_closed {
  int index;
  double now, left;
};

struct sl_fast_ring {
  int size;                     /* the number of buffers */
  int buckets;                  /* that have closed */
  int before_lowest, by_blocks; /* of these, before the lowest block, and when all blocks are done */
  int64_t most[SL_FAST_RING];   /* elements of the largest bucket of each buffer */
  double taken[SL_FAST_RING];   /* until when each is in use, in seconds */
  double one, several;        /* the most bytes besides the buffers when the first bucket closes, and when others do */
  struct sl_fast_closed last; /* the last bucket that was noted */
};

/* What the buffers add to memory, in bytes. */
struct sl_fast_ring_bytes {
  double before; /* the buffers in use in the lowest block */
  double under;  /* those in use in the rest of it once the last bucket has closed that closes there */
  double after;  /* those in use when the blocks are done */
  double last;   /* that of the last bucket */
  double live;   /* the peak memory, them included, at the moments when buckets close with blocks */
  double all;
};

/* A bucket of `count` elements closes. Returns the number of its buffer. */
int sl_fast_ring_take(struct sl_fast_ring *ring, int64_t count);
/* Notes the memory besides the buffers at the bucket that closed last, if others follow: `now`, and `left`, the most up
 * to the end of the block. */
void sl_fast_ring_note(struct sl_fast_ring *ring, double now, double left);
/* Notes the most memory besides the buffers in a block behind those that closed buckets so far. */
void sl_fast_ring_pass(struct sl_fast_ring *ring, double most);
/* When all buckets have closed. `element`: the bytes of one. */
struct sl_fast_ring_bytes sl_fast_ring_bytes(struct sl_fast_ring *ring, double element);
