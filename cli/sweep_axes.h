/* The axes of a sweep: flags and their values. */
#pragma once

#include "cli/options.h"

enum { SL_MAX_AXES = 1 + SL_MAX_OPERANDS };

struct sl_axis {
  const char *flag; /* without the "--"; owned */
  char **values;    /* owned */
  int count, width; /* characters of the widest value or of the flag */
};

/* Combination i has value i modulo its count of the last axis; the quotient gives the value of the axis before it in
 * the same way, and so on. */
struct sl_axes {
  struct sl_axis axis[SL_MAX_AXES];
  int count;
  int64_t combinations;
};

/* Reads the words of --sweep and the operands. Errors: SL_ERR_INPUT with the word and what was expected; *axes must be
 * freed even then. */
enum sl_status sl_axes_read(struct sl_axes *axes, const struct sl_options *options);
void sl_axes_free(struct sl_axes *axes);
/* The value of an axis in a combination; borrowed. */
const char *sl_axes_value(const struct sl_axes *axes, int axis, size_t combination);
/* Sets the flags of a combination, whose texts are borrowed. Errors: SL_ERR_INPUT for a value that the flag does not
 * take. */
enum sl_status sl_axes_apply(const struct sl_axes *axes, size_t combination, struct sl_options *options);
