/* The optimizer step and initialisation under a sharding strategy. */
#pragma once

#include "core/lower/build.h"

/* Norm, overflow flag, update of what this rank owns, and whatever makes parameters whole again. */
enum sl_status sl_update_step(struct sl_lowering *lowering, struct sl_program *program);
/* Draw or load every parameter piece and complete what stays whole. */
enum sl_status sl_update_init(struct sl_lowering *lowering, struct sl_program *program);
