/* Blocks in segments; see allocator.h. A block knows its neighbours in its segment. Free blocks are in bins of one
 * size, of which there are few where blocks may be thousands; a bin is a pairing heap by address (Fredman et al., The
 * Pairing Heap, 1986), whose links the blocks hold. */
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
      after; /* neighbours in the segment, plus 1; 0: none. For an unused entry, after is the next unused one */
  /* Links in a bin, plus 1; 0: none. Blocks of higher addresses hang below a block in a row: `below` is the first of
   * its row, `beside` the next in the row that it is in itself, `above` the one before in that row, or for the first
   * the block that the row hangs below. */
  uint32_t below, beside, above;
  bool small; /* of a small segment */
  bool out;
};

static int64_t segment_bytes(int64_t bytes) {
  if (bytes <= LARGEST_SMALL) return SMALL_SEGMENT;
  return bytes < OWN_SEGMENT_FROM ? LARGE_SEGMENT : sl_round_up(bytes, OWN_SEGMENT_UNIT);
}

/* ---- free blocks ---- */

/* Free blocks of one size. `key`: their bytes, and LARGE more for those of large segments. */
struct sl_allocator_bin {
  int64_t key;
  uint32_t lowest; /* the one with the lowest address, plus 1 */
};

#define LARGE (INT64_C(1) << 62)

static int64_t key_of(int64_t bytes, bool small) {
  return small ? bytes : bytes + LARGE;
}

/* The first bin that does not come before `key`. */
static size_t find_bin(const struct sl_allocator *a, int64_t key) {
  size_t low = 0, high = a->bin_count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (a->bins[middle].key < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool is_expandable(const struct sl_allocator *a, const struct sl_allocator_block *b) {
  return a->expandable && !b->small;
}

/* What of a free block can be returned to the device. */
static int64_t idle_of(const struct sl_allocator *a, const struct sl_allocator_block *b) {
  if (is_expandable(a, b)) return b->bytes - b->unmapped;
  return b->before == 0 && b->after == 0 ? b->bytes : 0;
}

/* Two heaps become one; returns its lowest block. All are numbers plus 1. */
static uint32_t meld(struct sl_allocator *a, uint32_t x, uint32_t y) {
  if (x == 0 || y == 0) return x + y;
  if (a->blocks[y - 1].address < a->blocks[x - 1].address) return meld(a, y, x);
  struct sl_allocator_block *low = &a->blocks[x - 1], *high = &a->blocks[y - 1];
  high->beside = low->below;
  high->above = x;
  if (low->below > 0) a->blocks[low->below - 1].above = y;
  low->below = y;
  return x;
}

/* A row of heaps becomes one: pair by pair, then from the last pair to the first. */
static uint32_t meld_row(struct sl_allocator *a, uint32_t row) {
  uint32_t pairs = 0, heap = 0;
  while (row > 0) {
    const uint32_t x = row, y = a->blocks[x - 1].beside;
    row = y > 0 ? a->blocks[y - 1].beside : 0;
    const uint32_t pair = meld(a, x, y);
    a->blocks[pair - 1].beside = pairs;
    pairs = pair;
  }
  while (pairs > 0) {
    const uint32_t pair = pairs;
    pairs = a->blocks[pair - 1].beside;
    heap = meld(a, heap, pair);
  }
  if (heap > 0) a->blocks[heap - 1].beside = a->blocks[heap - 1].above = 0;
  return heap;
}

static enum sl_status list(struct sl_allocator *a, uint32_t block) {
  const int64_t key = key_of(a->blocks[block].bytes, a->blocks[block].small);
  const size_t at = find_bin(a, key);
  if (at == a->bin_count || a->bins[at].key != key) {
    SL_TRY(sl_grow(&a->bins, &a->bin_capacity, a->bin_count + 1, sizeof *a->bins));
    memmove(&a->bins[at + 1], &a->bins[at], (a->bin_count++ - at) * sizeof *a->bins);
    a->bins[at] = (struct sl_allocator_bin){.key = key};
  }
  a->bins[at].lowest = meld(a, a->bins[at].lowest, block + 1);
  a->idle += idle_of(a, &a->blocks[block]);
  return SL_OK;
}

/* Takes a block out of its bin, the at-th. */
static void unlist_at(struct sl_allocator *a, size_t at, uint32_t block) {
  struct sl_allocator_block *b = &a->blocks[block];
  struct sl_allocator_bin *bin = &a->bins[at];
  const uint32_t below = meld_row(a, b->below);
  a->idle -= idle_of(a, b);
  if (b->above == 0) {
    bin->lowest = below;
  } else {
    struct sl_allocator_block *above = &a->blocks[b->above - 1];
    *(above->below == block + 1 ? &above->below : &above->beside) = b->beside;
    if (b->beside > 0) a->blocks[b->beside - 1].above = b->above;
    bin->lowest = meld(a, bin->lowest, below);
  }
  b->below = b->beside = b->above = 0;
  if (bin->lowest == 0) memmove(bin, bin + 1, (--a->bin_count - at) * sizeof *bin);
}

static void unlist(struct sl_allocator *a, uint32_t block) {
  unlist_at(a, find_bin(a, key_of(a->blocks[block].bytes, a->blocks[block].small)), block);
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

/* Returns segments that are completely free to the device, and the free pages of the one that expands. */
static void give_segments_back(struct sl_allocator *a) {
  for (uint32_t block = 0; block < a->block_count && a->idle > 0; block++) {
    struct sl_allocator_block *b = &a->blocks[block];
    const int64_t idle = b->bytes > 0 && !b->out ? idle_of(a, b) : 0;
    if (idle == 0) continue;
    a->reserved -= idle;
    if (is_expandable(a, b)) {
      a->idle -= idle;
      b->unmapped = b->bytes;
    } else {
      unlist(a, block);
      drop_block(a, block);
    }
  }
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

/* The bin whose first block serves a request, or bin_count. */
static size_t serving(const struct sl_allocator *a, int64_t bytes) {
  const bool small = bytes <= LARGEST_SMALL;
  const size_t at = find_bin(a, key_of(bytes, small));
  return at < a->bin_count && (a->bins[at].key < LARGE) == small ? at : a->bin_count;
}

/* The same block out of the list: *block is that plus 1, or 0. */
static void take_serving(struct sl_allocator *a, int64_t bytes, uint32_t *block) {
  const size_t at = serving(a, bytes);
  *block = at < a->bin_count ? a->bins[at].lowest : 0;
  if (*block > 0) unlist_at(a, at, *block - 1);
}

/* Takes the free block that serves a request out of the list, if there is one: *block is that plus 1, or 0. The last
 * block of the segment that expands counts as large as it can become. */
static enum sl_status find(struct sl_allocator *a, int64_t bytes, uint32_t *block) {
  take_serving(a, bytes, block);
  const uint32_t first = *block;
  if (first == 0) return SL_OK;
  if (first != a->last) return SL_OK;
  take_serving(a, bytes, block);
  if (*block > 0) return list(a, first - 1);
  *block = first;
  return SL_OK;
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

/* Is a request served by the segment that expands? */
static bool expands(const struct sl_allocator *a, int64_t bytes) {
  return a->expandable && bytes > LARGEST_SMALL;
}

bool sl_allocator_is_short(const struct sl_allocator *a, int64_t bytes) {
  const int64_t size = sl_round_up(bytes, LEAST_BLOCK);
  const int64_t more = expands(a, size) ? sl_round_up(size, PAGE) : segment_bytes(size);
  return a->capacity > 0 && serving(a, size) == a->bin_count && a->reserved + more > a->capacity;
}

enum sl_status sl_allocator_take(struct sl_allocator *a, int64_t bytes, uint32_t *block) {
  const int64_t size = sl_round_up(bytes, LEAST_BLOCK);
  uint32_t found;
  SL_TRY(find(a, size, &found));
  if (found > 0)
    *block = found - 1;
  else
    SL_TRY((expands(a, size) ? expand : new_segment)(a, size, block));
  a->blocks[*block].out = true;
  SL_TRY(cut(a, *block, size));
  map_whole(a, *block);
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
  free(a->bins);
  *a = (struct sl_allocator){0};
}
