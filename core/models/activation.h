/* What an MLP does between its products. */
#pragma once

#include "core/models/tape.h"

struct sl_activation {
  const char *name, *gradient_name;
  enum sl_op_kind forward, backward; /* of one value, or of two: a gate and what it lets through */
};

/* act(x), or with `up` act(x, up). */
int sl_activate(struct sl_tape *tape, const struct sl_activation *act, int x, int up);
