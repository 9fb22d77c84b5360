/* A command line's arguments by name, "--name value ...", as argparse reads them. Internal to core/interop. */
#pragma once

#include "core/interop/shell.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct sl_argument_given {
  const char *name; /* without dashes, '_' as '-' */
  char *const *values;
  size_t value_count;
  bool used; /* somebody asked for it */
};

struct sl_arguments {
  const char *name; /* for messages */
  struct sl_words words;
  struct sl_argument_given *list;
  size_t count, capacity;
};

/* The words of `text` (shell.h); what stands before the first argument is passed over, and so are values behind "$@" and the like. Of an argument
 * that stands twice the last holds. Errors: SL_ERR_INPUT where there is none; what sl_shell_words says. On failure nothing is held. */
enum sl_status sl_arguments_read(struct sl_arguments *a, const char *name, const char *text);
void sl_arguments_free(struct sl_arguments *a);
/* Whether it stands there; from then on it counts as used. */
bool sl_arguments_has(const struct sl_arguments *a, const char *name);
/* Mark those of a list that ends with NULL as used. */
void sl_arguments_pass(const struct sl_arguments *a, const char *const *names);
/* Its one value. Errors: SL_ERR_INPUT: it is absent, has none or several, or is no whole number from 0 to 2^53, no finite number. */
enum sl_status sl_arguments_text(const struct sl_arguments *a, const char *name, const char **out);
enum sl_status sl_arguments_int(const struct sl_arguments *a, const char *name, int64_t *out);
enum sl_status sl_arguments_real(const struct sl_arguments *a, const char *name, double *out);
/* Its values, a new array of texts. */
json_t *sl_arguments_list(const struct sl_arguments *a, const char *name);
/* Fail with SL_ERR_INPUT: "NAME: --argument: is VALUE; expected EXPECTED". */
enum sl_status sl_arguments_fail(const struct sl_arguments *a, const char *name, const char *expected);
