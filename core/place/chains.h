/* The slots that change in an open run: they form chains, and none comes back. Internal to core/place.
 *
 * While a pipeline fills, each micro-batch takes slots that none has taken before; while it empties, each leaves slots
 * that none takes again. */
#pragma once

#include "core/place/periods.h"

/* Copies periods of an open run, of which `left` are left, if they are known to be identical to the last. *copies: how
 * many. Errors: SL_ERR_MEMORY. */
enum sl_status sl_chains_copy(struct sl_periods *periods, uint32_t left, uint32_t *copies);
/* A run has ended. */
void sl_chains_end(struct sl_periods *periods);
/* Once the program is derived: is every overlap of two slots in time among the lifetimes that were recorded? */
bool sl_chains_met(const struct sl_periods *periods);
