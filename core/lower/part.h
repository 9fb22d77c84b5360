/* A rank's part of a sharded unit, as a gather sends it. */
#pragma once

#include "core/lower/build.h"

/* The operand of this rank's part of `unit` for `gather`, whose phase and lane count: the shard itself, or a copy of it
 * on the device if it is kept in host memory or on NVMe, or cast if shards have another type
 * (sl_strategy.casts_shards). */
enum sl_status sl_part_to_gather(struct sl_lowering *lowering, struct sl_program *program, struct sl_op gather,
                                 int unit, struct sl_operand *part);
