/* Command-line arguments by name, "--name value ...", as argparse reads them. Internal to core/interop. */
#pragma once

#include "core/interop/shell.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct sl_argument_given {
  const char *name; /* without dashes, '_' as '-' */
  char *const *values;
  size_t value_count;
  bool used;        /* it has been requested */
  const char *file; /* that the script sources; NULL: the script itself */
  int line;
  const char *doubt; /* of its first value; see shell.h */
  bool conditional;  /* it was written under a condition */
};

struct sl_arguments {
  const char *name; /* for messages */
  bool is_script;   /* of lines, which messages name */
  struct sl_shell source;
  struct sl_words words;
  struct sl_shell_place *places; /* of each word */
  size_t place_capacity;
  struct sl_argument_given *list;
  size_t count, capacity;
  json_t *asked; /* the names that have been requested, given or not */
};

/* Reads the words of `text`, a script that `start` starts or arguments (shell.h); words before the first argument are
 * skipped, as are values after "$@" and the like. If an argument occurs twice, the last one counts. Errors:
 * SL_ERR_INPUT if there are no arguments; those of sl_shell_read. On failure nothing is allocated. */
enum sl_status sl_arguments_read(struct sl_arguments *a, const char *name, const char *text, bool is_script,
                                 const char *start);
void sl_arguments_free(struct sl_arguments *a);
/* Is the argument given? Marks it as used. */
bool sl_arguments_has(const struct sl_arguments *a, const char *name);
bool sl_arguments_has_any(const struct sl_arguments *a, const char *const *names); /* NULL-terminated */
/* Its last occurrence, which counts; NULL: it is not given. Marks nothing. */
const struct sl_argument_given *sl_arguments_find(const struct sl_arguments *a, const char *name);
/* Marks the arguments of a NULL-terminated list as used. */
void sl_arguments_pass(const struct sl_arguments *a, const char *const *names);
/* Its single value. Errors: SL_ERR_INPUT: absent, no value or several, or not a whole number from 0 to 2^53 or not a
 * finite number. */
enum sl_status sl_arguments_text(const struct sl_arguments *a, const char *name, const char **out);
enum sl_status sl_arguments_int(const struct sl_arguments *a, const char *name, int64_t *out);
enum sl_status sl_arguments_real(const struct sl_arguments *a, const char *name, double *out);
/* The number `x` that it gave, as it is written where that is JSON: "2" is shown as 2, not 2.0. A new reference. */
json_t *sl_arguments_number(const struct sl_arguments *a, const char *name, double x);
/* Its values, as a new array of strings. */
json_t *sl_arguments_list(const struct sl_arguments *a, const char *name);
/* Writes "FILE:LINE" of an argument of a script; of arguments alone, and of NULL, their name. */
void sl_arguments_where(const struct sl_arguments *a, const struct sl_argument_given *g, char *out, size_t size);
/* Fails with SL_ERR_INPUT: "NAME:LINE: --argument: is VALUE; expected EXPECTED". */
enum sl_status sl_arguments_fail(const struct sl_arguments *a, const char *name, const char *expected);
