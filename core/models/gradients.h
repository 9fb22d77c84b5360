/* Gradients of values, as the rules of a backward ask for them and give them; what the rules are is said in tape.h. */
#pragma once

#include "core/models/tape.h"

/* The gradient of a value, to read it. */
struct sl_operand sl_gradient_of(const struct sl_tape *tape, int value);
/* *d, the gradient of `value`, which stands in the stream's, as it is now: for an op that reads it in a W half, before which I
 * works on. In a split backward a copy, else *d itself. */
enum sl_status sl_gradient_hold(struct sl_tape *tape, int value, struct sl_operand *d);
/* Where an op of its own writes the gradient of `value`, or adds it to what is there. */
enum sl_status sl_gradient_into(struct sl_tape *tape, int value, struct sl_operand *into);
/* The gradient of `value`, or a part of it, is at `at`, which the tape may go on to add to. */
enum sl_status sl_gradient_give(struct sl_tape *tape, int value, struct sl_operand at);
