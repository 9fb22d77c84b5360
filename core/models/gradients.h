/* Gradients of values, for the backward rules of the tape; tape.h explains the rules. */
#pragma once

#include "core/models/tape.h"

/* The gradient of a value, for reading. */
struct sl_operand sl_gradient_of(const struct sl_tape *tape, int value);
/* *d becomes the current gradient of `value`, which is kept in that of the residual stream, for an op that reads it in
 * a W half after I has changed it. In a split backward this is a copy, otherwise *d is unchanged. */
enum sl_status sl_gradient_hold(struct sl_tape *tape, int value, struct sl_operand *d);
/* Where an op writes the gradient of `value`, or adds to the existing one. */
enum sl_status sl_gradient_into(struct sl_tape *tape, int value, struct sl_operand *into);
/* Declares that the gradient of `value`, or a part of it, is at `at`; the tape may add to it there. */
enum sl_status sl_gradient_give(struct sl_tape *tape, int value, struct sl_operand at);
/* The rule of a fused loss, which has left the gradient of its input as its output. */
enum sl_status sl_gradient_of_loss(struct sl_tape *tape, const struct sl_node *node);
