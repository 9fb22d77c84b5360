/* Short names for the rows of a set of records, made of the facts that distinguish them: as many as needed, the most
 * telling first. Different worlds, for example, never get the same name. */
#pragma once

#include "analysis/rows.h"

#include <stddef.h>

/* The name of row `i`: "ZeRO-2", "world 8 tp 2"; "all" if the rows do not differ. */
void sl_label_of(const struct sl_rows *rows, size_t i, char *out, size_t size);
