/* Slots: which of a buffer's copies a micro-batch uses, and for how long. */
#pragma once

#include "core/lower/build.h"

/* Called once the stages' buffers are made: determines which of them share slots. */
enum sl_status sl_slots_open(struct sl_lowering *lowering);
void sl_slots_close(struct sl_lowering *lowering);
/* Number of slot numbers of an instance. */
int sl_slots_count(const struct sl_lowering *lowering);
/* Takes the slots that an action of a micro-batch needs before it runs, and returns the numbers of all slots that it
 * may use. */
void sl_slots_take(struct sl_lowering *lowering, const struct sl_action *action, int32_t *numbers);
/* Releases the slots that it leaves, or passes them to the next stage. */
void sl_slots_give(struct sl_lowering *lowering, const struct sl_action *action);
/* The most messages between stages that slots hold at a time, activations and gradients. */
int sl_slots_messages(const struct sl_lowering *lowering);
/* At the end of the step: numbers the slots of every buffer. Errors: SL_ERR_INPUT if there are more than
 * SL_MAX_SLOTS. */
enum sl_status sl_slots_number(struct sl_lowering *lowering);
