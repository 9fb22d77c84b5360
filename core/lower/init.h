/* Initial values of the states under a sharding strategy. */
#pragma once

#include "core/lower/build.h"

/* Draws or loads every piece of a parameter and gathers what is kept whole. */
enum sl_status sl_init_states(struct sl_lowering *lowering, struct sl_program *program);
