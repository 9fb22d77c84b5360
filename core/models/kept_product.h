/* The last product of a block, kept although nothing reads it again. */
#pragma once

#include "core/models/tape.h"

/* Recomputation by op keeps every other product (recompute.h), the last one among them. A framework that keeps it
 * regardless holds it from forward to backward; for others this adds nothing. */
void sl_keep_product(struct sl_tape *tape);
