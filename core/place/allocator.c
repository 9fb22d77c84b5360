/* Blocks in segments; see allocator.h. A block knows its neighbours in its segment; free blocks are in one sorted list,
 * those of small segments first. */
#include "core/place/allocator.h"
#include "core/base/checked.h"

#include <stdlib.h>
#include <string.h>

/* kMinBlockSize, kSmallSize, kSmallBuffer, kLargeBuffer, kMinLargeAlloc and kRoundLarge of CUDACachingAllocator.cpp. */
enum {
  MIB = 1 << 20,
  LEAST_BLOCK = 512,
  LARGEST_SMALL = 1 * MIB,
  SMALL_SEGMENT = 2 * MIB,
  LARGE_SEGMENT = 20 * MIB,
  OWN_SEGMENT_FROM = 10 * MIB,
  OWN_SEGMENT_UNIT = 2 * MIB,
  PAGE = 20 * MIB /* that an expandable segment maps at a time */
};

struct sl_allocator_block {
  int64_t address, bytes;
  int64_t unmapped; /* of the bytes, if free: they were given back to the device */
  uint32_t before,
      after;  /* neighbours in the segment, plus 1; 0: none. For an unused entry, after is the next unused one */
  bool small; /* of a small segment */
  bool out;
};

static int64_t segment_bytes(int64_t bytes) {
  if (bytes <= LARGEST_SMALL) return SMALL_SEGMENT;
  return bytes < OWN_SEGMENT_FROM ? LARGE_SEGMENT : sl_round_up(bytes, OWN_SEGMENT_UNIT);
}

/* ---- the list of free blocks ---- */

static int order(const struct sl_allocator_block *x, const struct sl_allocator_block *y) {
  if (x->small != y->small) return x->small ? -1 : 1;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
  return (x->address > y->address) - (x->address < y->address);
}

/* The first free block that does not come before `key`. */
static size_t find_free(const struct sl_allocator *a, const struct sl_allocator_block *key) {
  size_t low = 0, high = a->free_count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (order(&a->blocks[a->free_blocks[middle]], key) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static enum sl_status list(struct sl_allocator *a, uint32_t block) {
  SL_TRY(sl_grow(&a->free_blocks, &a->free_capacity, a->free_count + 1, sizeof *a->free_blocks));
  const size_t at = find_free(a, &a->blocks[block]);
  memmove(&a->free_blocks[at + 1], &a->free_blocks[at], (a->free_count++ - at) * sizeof *a->free_blocks);
  a->free_blocks[at] = block;
  return SL_OK;
}

static void unlist(struct sl_allocator *a, uint32_t block) {
  const size_t at = find_free(a, &a->blocks[block]);
  memmove(&a->free_blocks[at], &a->free_blocks[at + 1], (--a->free_count - at) * sizeof *a->free_blocks);
}

/* ---- blocks ---- */

static enum sl_status new_block(struct sl_allocator *a, uint32_t *out) {
  if (a->unused > 0) {
    *out = a->unused - 1;
    a->unused = a->blocks[*out].after;
    return SL_OK;
  }
  SL_TRY(sl_grow(&a->blocks, &a->block_capacity, a->block_count + 1, sizeof *a->blocks));
  *out = (uint32_t)a->block_count++;
  return SL_OK;
}

static void drop_block(struct sl_allocator *a, uint32_t block) {
  a->blocks[block] = (struct sl_allocator_block){.after = a->unused};
  a->unused = block + 1;
}

/* Merges block `right` into `left`, its predecessor. */
static void join(struct sl_allocator *a, uint32_t left, uint32_t right) {
  const uint32_t after = a->blocks[right].after;
  a->blocks[left].bytes += a->blocks[right].bytes;
  a->blocks[left].unmapped += a->blocks[right].unmapped;
  if (a->last == right + 1) a->last = left + 1;
  a->blocks[left].after = after;
  if (after > 0) a->blocks[after - 1].before = left + 1;
  drop_block(a, right);
}

/* Splits what `block` has beyond `bytes` off as a free block, if that is large enough. */
static enum sl_status cut(struct sl_allocator *a, uint32_t block, int64_t bytes) {
  const int64_t left = a->blocks[block].bytes - bytes;
  uint32_t rest;
  if (a->blocks[block].small || a->expandable ? left < LEAST_BLOCK : left <= LARGEST_SMALL) return SL_OK;
  SL_TRY(new_block(a, &rest));
  struct sl_allocator_block *b = &a->blocks[block];
  a->blocks[rest] = (struct sl_allocator_block){
      .address = b->address + bytes, .bytes = left, .before = block + 1, .after = b->after, .small = b->small};
  a->blocks[rest].unmapped = b->unmapped < left ? b->unmapped : left;
  b->unmapped -= a->blocks[rest].unmapped;
  if (a->last == block + 1) a->last = rest + 1;
  if (b->after > 0) a->blocks[b->after - 1].before = rest + 1;
  b->after = rest + 1;
  b->bytes = bytes;
  return list(a, rest);
}

static bool is_expandable(const struct sl_allocator *a, const struct sl_allocator_block *b) {
  return a->expandable && !b->small;
}

/* Returns segments that are completely free to the device, and the free pages of the one that expands. */
static void give_segments_back(struct sl_allocator *a) {
  size_t kept = 0;
  for (size_t i = 0; i < a->free_count; i++) {
    const uint32_t block = a->free_blocks[i];
    struct sl_allocator_block *b = &a->blocks[block];
    if (is_expandable(a, b)) {
      a->reserved -= b->bytes - b->unmapped;
      b->unmapped = b->bytes;
    }
    if (is_expandable(a, b) || b->before > 0 || b->after > 0) {
      a->free_blocks[kept++] = block;
      continue;
    }
    a->reserved -= b->bytes;
    drop_block(a, block);
  }
  a->free_count = kept;
}

static void reserve(struct sl_allocator *a, int64_t bytes) {
  a->reserved += bytes;
  if (a->reserved > a->reserved_peak) a->reserved_peak = a->reserved;
}

static void make_room(struct sl_allocator *a, int64_t bytes) {
  if (a->capacity > 0 && a->reserved + bytes > a->capacity) give_segments_back(a);
}

/* Maps as many pages behind the last block of the segment that expands as a block of `bytes` lacks. */
static enum sl_status expand(struct sl_allocator *a, int64_t bytes, uint32_t *out) {
  const uint32_t last = a->last;
  const bool grows = last > 0 && !a->blocks[last - 1].out;
  const int64_t more = sl_round_up(bytes - (grows ? a->blocks[last - 1].bytes : 0), PAGE);
  make_room(a, more);
  if (grows) {
    *out = last - 1;
    unlist(a, *out);
    a->blocks[*out].bytes += more;
  } else {
    SL_TRY(new_block(a, out));
    a->blocks[*out] = (struct sl_allocator_block){.address = a->next_address, .bytes = more, .before = last};
    if (last > 0) a->blocks[last - 1].after = *out + 1;
    a->last = *out + 1;
  }
  a->next_address += more;
  reserve(a, more);
  return SL_OK;
}

static enum sl_status new_segment(struct sl_allocator *a, int64_t bytes, uint32_t *out) {
  const int64_t size = segment_bytes(bytes);
  make_room(a, size);
  SL_TRY(new_block(a, out));
  a->blocks[*out] =
      (struct sl_allocator_block){.address = a->next_address, .bytes = size, .small = bytes <= LARGEST_SMALL};
  a->next_address += size;
  reserve(a, size);
  return SL_OK;
}

/* The place of the free block that serves a request, or free_count. The last block of the segment that expands counts
 * as large as it can become. */
static size_t serving(const struct sl_allocator *a, const struct sl_allocator_block *key) {
  size_t at = find_free(a, key);
  const bool last = at < a->free_count && a->free_blocks[at] + 1 == a->last;
  if (last && at + 1 < a->free_count) at++;
  return at < a->free_count && a->blocks[a->free_blocks[at]].small == key->small ? at : a->free_count;
}

/* Maps again what of a block was given back to the device. */
static void map_whole(struct sl_allocator *a, uint32_t block) {
  const int64_t unmapped = a->blocks[block].unmapped;
  if (unmapped == 0) return;
  make_room(a, unmapped);
  reserve(a, unmapped);
  a->blocks[block].unmapped = 0;
}

/* ---- requests ---- */

bool sl_allocator_is_short(const struct sl_allocator *a, int64_t bytes) {
  const int64_t size = sl_round_up(bytes, LEAST_BLOCK);
  const struct sl_allocator_block key = {.bytes = size, .small = size <= LARGEST_SMALL};
  const bool found = serving(a, &key) < a->free_count;
  const int64_t more = is_expandable(a, &key) ? sl_round_up(size, PAGE) : segment_bytes(size);
  return a->capacity > 0 && !found && a->reserved + more > a->capacity;
}

enum sl_status sl_allocator_take(struct sl_allocator *a, int64_t bytes, uint32_t *block) {
  const int64_t size = sl_round_up(bytes, LEAST_BLOCK);
  const struct sl_allocator_block key = {.bytes = size, .small = size <= LARGEST_SMALL};
  const size_t at = serving(a, &key);
  if (at < a->free_count) {
    *block = a->free_blocks[at];
    unlist(a, *block);
  } else {
    SL_TRY((is_expandable(a, &key) ? expand : new_segment)(a, size, block));
  }
  SL_TRY(cut(a, *block, size));
  map_whole(a, *block);
  a->blocks[*block].out = true;
  a->taken += a->blocks[*block].bytes;
  if (a->taken > a->taken_peak) a->taken_peak = a->taken;
  return SL_OK;
}

enum sl_status sl_allocator_give(struct sl_allocator *a, uint32_t block) {
  struct sl_allocator_block *b = &a->blocks[block];
  const uint32_t after = b->after, before = b->before;
  a->taken -= b->bytes;
  b->out = false;
  if (after > 0 && !a->blocks[after - 1].out) {
    unlist(a, after - 1);
    join(a, block, after - 1);
  }
  if (before > 0 && !a->blocks[before - 1].out) {
    unlist(a, before - 1);
    join(a, before - 1, block);
    block = before - 1;
  }
  return list(a, block);
}

void sl_allocator_free(struct sl_allocator *a) {
  free(a->blocks);
  free(a->free_blocks);
  *a = (struct sl_allocator){0};
}
