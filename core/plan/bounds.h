/* Compares the sizes of a micro-batch and of a step with their limits (core/base/limits.h). No other file does, so that
 * all products of them formed later are known to fit; see core/base/checked.h. */
#pragma once

#include "core/base/status.h"

struct sl_plan;

/* Checks a plan whose degrees, batch sizes and sequence length are known. Errors: SL_ERR_INPUT with the key to blame,
 * its value and the limit. */
enum sl_status sl_plan_check_bounds(const struct sl_plan *plan);
