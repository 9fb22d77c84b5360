/* The optimizer step under a sharding strategy. */
#pragma once

#include "core/lower/build.h"

/* Norm, overflow flag, update of what this rank owns, and the gathers that make parameters whole again. */
enum sl_status sl_update_step(struct sl_lowering *lowering, struct sl_program *program);
/* Sums the loss, the squares and the overflow flag over the world. */
enum sl_status sl_update_sum(struct sl_lowering *lowering, struct sl_program *program);
