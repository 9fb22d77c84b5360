/* Slots: which of a buffer's copies a micro-batch uses, from when to when. */
#pragma once

#include "core/lower/build.h"

/* Once the stages' buffers are made: which of them share their slots. */
enum sl_status sl_slots_open(struct sl_lowering *lowering);
void sl_slots_close(struct sl_lowering *lowering);
/* Slot numbers of an instance. */
int sl_slots_count(const struct sl_lowering *lowering);
/* What an action of a micro-batch takes before it runs, and the numbers of all slots that it may use. */
void sl_slots_take(struct sl_lowering *lowering, const struct sl_action *action, int32_t *numbers);
/* What it leaves free, or to the stage beside it. */
void sl_slots_give(struct sl_lowering *lowering, const struct sl_action *action);
/* At the end of the step: how many slots every buffer has, and which. */
void sl_slots_number(struct sl_lowering *lowering);
