/* A row of the table of options; the rows are in options_table.c. */
#pragma once

#include "cli/options.h"

#include <stddef.h>

enum sl_option_type { TEXT, INTEGER, BYTES, REAL, FLAG, CHOICE };

struct sl_option {
  const char *name;
  enum sl_option_type type;
  size_t offset;       /* of its field in sl_options */
  const char *keys;    /* keys of the config that it overrides, separated by |; NULL: none. See sl_options_override */
  const char *initial; /* the default, as text; NULL: unset */
  const char *value;   /* usage: what follows the flag; CHOICE: the words, separated by | */
  double low, high;    /* range of an INTEGER or REAL */
  unsigned commands;   /* mask of the commands that take it */
  const char *help;
};

/* Every option of every command, and their number. */
extern const struct sl_option sl_options_table[];
extern const int sl_options_count;
