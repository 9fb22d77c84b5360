/* PyTorch's caching allocator of device memory, as a model: what it holds of the device for a sequence of requests.
 *
 * It asks the device for segments and hands out blocks of them. A block is the smallest free one that is large enough; it is cut
 * where enough is left over, and joins its free neighbours in its segment when it is given back. Segments are kept, so a framework
 * reserves more of the device than its tensors take. Source of the rules and of the sizes: pytorch/pytorch
 * c10/cuda/CUDACachingAllocator.cpp, with its defaults (max_split_size unlimited, no expandable segments). One stream: what
 * other streams use is taken on the stream of compute, too. */
#pragma once

#include "core/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sl_allocator_block;

/* Zero is an allocator that holds nothing on a device without end; `capacity` may be set before its first use. */
struct sl_allocator {
  /* Bytes of the device, 0: no end. Where a segment would go beyond it, those that are free all over go back to the device first
   * (release_cached_blocks); where it does so even then it is taken all the same, and reserved_peak says that memory ran out. */
  int64_t capacity;
  int64_t taken, reserved;           /* bytes now: of blocks that are out, and of segments */
  int64_t taken_peak, reserved_peak; /* the most that they were */
  int64_t next_address;              /* of a new segment */
  struct sl_allocator_block *blocks; /* owned */
  size_t block_count, block_capacity;
  uint32_t *free_blocks; /* by size, then by address; owned */
  size_t free_count, free_capacity;
  uint32_t unused; /* first of the blocks that stand for nothing, plus 1; 0: none */
};

/* A block of at least `bytes`, above 0; *block is its number until it is given back. Errors: SL_ERR_MEMORY. */
enum sl_status sl_allocator_take(struct sl_allocator *allocator, int64_t bytes, uint32_t *block);
enum sl_status sl_allocator_give(struct sl_allocator *allocator, uint32_t block);
void sl_allocator_free(struct sl_allocator *allocator);
