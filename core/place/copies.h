/* Copies of the last derived period: its issues, and what it leaves behind. Internal to core/place. */
#pragma once

#include "core/place/periods.h"

/* Adds `copies` more periods like the last, written out. Errors: SL_ERR_MEMORY. */
enum sl_status sl_copies_write(struct sl_periods *periods, uint32_t copies);
/* The same, as one repetition if the program may have it: what follows looks at no op behind `since` but those of the
 * last copies. Once in a program. */
enum sl_status sl_copies_store(struct sl_periods *periods, const struct sl_mark *since, uint32_t copies);
/* Moves the histories of slots that do not change to where the copies end, with `lives` also their newest lifetimes. */
void sl_copies_move_slots(struct sl_periods *periods, uint32_t copies, bool lives);
/* Adds `jump` to all ops behind `since` that the history of a slot names. */
void sl_copies_move_history(struct linker *k, size_t slot, const struct sl_mark *since, const struct sl_mark *jump);
