/* What tests of Megatron-LM's arguments share: readings, refusals and warnings. */
#pragma once

#include "core/base/json_get.h"
#include "core/interop/megatron.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MODEL "--num-layers 8 --hidden-size 64 --num-attention-heads 4 --max-position-embeddings 128 --vocab-size 999 "
#define NEEDED "--micro-batch-size 1 --lr 1 "

static char warned[4096]; /* the warnings of a reading, one a line */

static inline void keep(void *context, const char *text) {
  (void)context;
  const size_t used = strlen(warned);
  snprintf(warned + used, sizeof warned - used, "%s%s", used > 0 ? "\n" : "", text);
}

/* Reads it and keeps the warnings. */
static inline enum sl_status read_as_asked(const struct sl_megatron_source *source, struct sl_megatron_made *made) {
  warned[0] = '\0';
  sl_error_clear();
  sl_warn_set_sink(keep, NULL);
  const enum sl_status status = sl_megatron_read(source, made);
  sl_warn_set_sink(NULL, NULL);
  return status;
}

/* Reads a script, called run.sh, or arguments. An error is in the words of the arguments, as the command's are. */
static inline enum sl_status read_source(const char *text, bool is_script, bool strict, struct sl_megatron_made *made) {
  const char *name = is_script ? "run.sh" : "--from-megatron";
  const struct sl_megatron_source source = {
      .name = name, .text = text, .is_script = is_script, .wants_model = true, .strict = strict};
  return read_as_asked(&source, made);
}

/* Reads a script that must be right. */
static inline void read_as(const char *text, json_t **config, json_t **model) {
  struct sl_megatron_made made;
  if (read_source(text, true, false, &made) != SL_OK) fail_msg("%s", sl_error_message());
  *config = made.config;
  *model = made.model;
  json_decref(made.names);
}

static inline long long integer(const json_t *root, const char *path) {
  return json_integer_value(sl_json_at(root, path));
}

/* `text` is refused with a message that has `says` in it. */
static inline void refuses(const char *text, bool is_script, bool strict, const char *says) {
  struct sl_megatron_made made;
  if (read_source(text, is_script, strict, &made) != SL_ERR_INPUT) fail_msg("taken: %s", text);
  if (strstr(sl_error_message(), says) == NULL) fail_msg("%s: %s", text, sl_error_message());
  assert_null(made.config);
  sl_error_clear();
}

/* It is read, and the warnings are `says`. */
static inline void warns(const char *text, bool is_script, bool strict, const char *says) {
  struct sl_megatron_made made;
  if (read_source(text, is_script, strict, &made) != SL_OK) fail_msg("%s: %s", text, sl_error_message());
  if (strcmp(warned, says) != 0) fail_msg("%s: %s", text, warned);
  sl_megatron_free(&made);
}
