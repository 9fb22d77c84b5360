/* Products of one input that a framework computes as one: of q, k and v, and of the gate and the MLP's first product. A
 * kernel set says which (plan/kernels.h). There they are one parameter, too, which moves the cuts of buckets. */
#pragma once

#include "core/plan/plan.h"

/* Gives the plan a model of its own with what its kernel set packs, if the one that it has keeps any of that apart; it
 * is freed with the plan. The plan's degrees must be known. Errors: SL_ERR_MEMORY. */
enum sl_status sl_packing_apply(struct sl_plan *plan);
