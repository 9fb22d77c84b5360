/* Resolves a range of bytes of a buffer to its address on this rank, for both backends. */
#pragma once

#include "core/program/program.h"

/* The address of `bytes` bytes at `offset` of a buffer's first slot, in the arena of its space. Errors: SL_ERR_INTERNAL
 * where the buffer has none. */
enum sl_status sl_rank_bytes(const struct sl_class *rank_class, char *const *arena, int32_t buffer, int64_t offset,
                             int64_t bytes, char **at);
