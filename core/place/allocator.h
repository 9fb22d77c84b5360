/* A model of PyTorch's caching allocator: how much device memory it reserves for a sequence of requests.
 *
 * It requests segments from the device and hands out blocks of them. A block is the smallest free one that is large
 * enough; the rest is split off if it is large enough, and a freed block is merged with its free neighbours in the
 * segment. Segments are kept, so a framework reserves more of the device than its tensors use. Source of the rules and
 * sizes: pytorch/pytorch c10/cuda/CUDACachingAllocator.cpp, with its defaults (max_split_size unlimited) and, as an
 * option, with expandable segments. There is one stream: memory used by other streams is allocated on the compute stream too. */
#pragma once

#include "core/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sl_allocator_block;
struct sl_allocator_bin;

/* Zeroed, it is an empty allocator on a device of unlimited memory; `capacity` may be set before its first use. */
struct sl_allocator {
  /* Bytes of the device, 0: unlimited. If a segment would exceed it, segments that are completely free are returned to
   * the device first (release_cached_blocks); if it still does, it is allocated anyway, and reserved_peak shows that
   * memory ran out. */
  int64_t capacity;
  /* One segment grows by pages and serves all requests above 1 MiB (PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True):
   * blocks of different sizes share it, and it returns free pages as well as whole segments. */
  bool expandable;
  int64_t taken, reserved;           /* current bytes: of blocks in use, and of segments */
  int64_t taken_peak, reserved_peak; /* the most that they were */
  int64_t next_address;              /* of a new segment */
  uint32_t last;                     /* block of the segment that expands, plus 1; 0: none */
  struct sl_allocator_block *blocks; /* owned */
  size_t block_count, block_capacity;
  struct sl_allocator_bin *bins; /* of the free blocks, by size; owned */
  size_t bin_count, bin_capacity;
  int64_t idle;    /* bytes that can be returned to the device */
  uint32_t unused; /* first of the unused entries in blocks, plus 1; 0: none */
};

/* Would a block of `bytes` need a segment for which the device has no memory left? */
bool sl_allocator_is_short(const struct sl_allocator *allocator, int64_t bytes);
/* Takes a block of at least `bytes`, above 0; *block identifies it until it is freed. Errors: SL_ERR_MEMORY. */
enum sl_status sl_allocator_take(struct sl_allocator *allocator, int64_t bytes, uint32_t *block);
enum sl_status sl_allocator_give(struct sl_allocator *allocator, uint32_t block);
void sl_allocator_free(struct sl_allocator *allocator);
