/* The sizes of a micro-batch and a step against their limits (core/base/limits.h): the one place that compares them, so that
 * what is formed of them later fits; see core/base/checked.h. */
#pragma once

#include "core/base/status.h"

struct sl_plan;

/* Of a plan whose degrees, batch sizes and sequence length are known. Errors: SL_ERR_INPUT with the key to blame, its number
 * and the limit. */
enum sl_status sl_plan_check_bounds(const struct sl_plan *plan);
