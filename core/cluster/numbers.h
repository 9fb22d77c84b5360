/* Tables of the numbers of a profile: key, place in a structure, unit, range. Internal to core/cluster.
 *
 * Units are part of the keys (bandwidth_GBps, launch_us); structures hold SI. Any number may have siblings
 * "<key>_source" (text) and "<key>_stderr" (a number), which are kept as annotations (cluster/provenance.h). */
#pragma once

#include "core/base/json_get.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* A number OF_KERNELS belongs to a GPU whose costs follow the structure of its kernels: it is shown if sm_count is
 * given. */
enum sl_presence { SL_OPTIONAL, SL_REQUIRED, SL_OF_KERNELS };
enum sl_number_kind {
  SL_REAL,
  SL_REAL_OR_0, /* 0: not given */
  SL_BYTES,     /* int64_t */
  SL_COUNT      /* int */
};

struct sl_number {
  const char *key;
  enum sl_number_kind kind;
  size_t offset;   /* of the field in its structure */
  double unit;     /* SI per unit of the file */
  double min, max; /* in units of the file */
  enum sl_presence presence;
};

enum { SL_MAX_KEYS = 48 }; /* words and numbers of one object */

/* Checks that every key of `in` is one of `words`, the key of a number, or an annotation of a number, which is added to
 * `annotations`. Errors: SL_ERR_INPUT with the place of the key and the nearest known one. */
enum sl_status sl_numbers_check_keys(const struct sl_json_object *in, const char *const *words, size_t n_words,
                                     const struct sl_number *numbers, size_t n_numbers, json_t *annotations);
/* Reads the numbers in `in` into the structure at `base`, which holds the defaults of the others, and records the
 * source of each. */
enum sl_status sl_numbers_read(const struct sl_json_object *in, const struct sl_number *numbers, size_t n, void *base,
                               json_t *annotations);
/* Records the default source of a number for which the file gives none: `given` if the file has the key. */
void sl_numbers_note(const struct sl_json_object *in, const char *key, double value, const char *given,
                     json_t *annotations);
/* Adds the numbers to `object` in the units of the file; those OF_KERNELS only if `of_kernels`. */
void sl_numbers_dump(json_t *object, const struct sl_number *numbers, size_t n, const void *base, bool of_kernels);

extern const char sl_no_source[]; /* "no source given" */
