/* What an MLP does between its products. */
#pragma once

#include "core/models/tape.h"

struct sl_act {
  const char *name, *gradient_name;
  bool gated; /* of a gate and what it lets through */
};

/* The form's. */
struct sl_act sl_act_of(const struct sl_form *form);
/* act(x), or with `up` act(x, up); of a form that packs the two, x is rows (gate | up). */
int sl_activate(struct sl_tape *tape, const struct sl_act *act, int x, int up);
/* cap tanh(x / cap) of logits, where the form caps them. */
int sl_cap(struct sl_tape *tape, int logits);
