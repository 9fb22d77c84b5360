/* What both backends ask of a rank: how long it waits for others, and where a run of bytes of a buffer lies. */
#pragma once

#include "core/program/program.h"

/* Seconds without progress after which a rank gives up: SHARDLAB_TIMEOUT_S, else 60. Errors: SL_ERR_INPUT. */
enum sl_status sl_rank_timeout(double *seconds);
/* The address of `bytes` bytes at `offset` of a buffer's first slot, in the arena of its space. Errors: SL_ERR_INTERNAL where
 * the buffer has none. */
enum sl_status sl_rank_bytes(const struct sl_class *rank_class, char *const *arena, int32_t buffer, int64_t offset,
                             int64_t bytes, char **at);
