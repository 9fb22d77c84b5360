/* First values of the states under a sharding strategy. */
#pragma once

#include "core/lower/build.h"

/* Draw or load every parameter piece and complete what stays whole. */
enum sl_status sl_init_states(struct sl_lowering *lowering, struct sl_program *program);
