/* The activation between the products of an MLP. */
#pragma once

#include "core/models/tape.h"

struct sl_act {
  const char *name, *gradient_name;
  bool gated; /* a product of an activated gate and a second input */
};

/* The activation of a form. */
struct sl_act sl_act_of(const struct sl_form *form);
/* Computes act(x), or with `up` act(x, up); if the form packs the two, x is rows (gate | up). */
int sl_activate(struct sl_tape *tape, const struct sl_act *act, int x, int up);
/* Computes cap tanh(x / cap) of the logits, if the form caps them. */
int sl_cap(struct sl_tape *tape, int logits);
