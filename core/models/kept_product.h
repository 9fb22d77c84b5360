/* A block's last product, kept though nothing reads it again. */
#pragma once

#include "core/models/tape.h"

/* Recomputation by op keeps every other product (recompute.h), the last one among them: a framework that keeps it anyway does so
 * from one pass to the other. Nothing where it does not. */
void sl_keep_product(struct sl_tape *tape);
