/* What tells the rows of a set of records apart, as a name for each: as many facts as it takes, the
 * most telling first. Two worlds, say, never have one name. */
#pragma once

#include "analysis/rows.h"

#include <stddef.h>

/* "ZeRO-2", "world 8 tp 2": of row `i`. "all" where nothing differs. */
void sl_label_of(const struct sl_rows *rows, size_t i, char *out, size_t size);
