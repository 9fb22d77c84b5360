/* What the fuzz targets of other frameworks' settings share. */
#pragma once

#include "core/config/config.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static inline void swallow(void *context, const char *message) {
  (void)context;
  (void)message;
}

/* Hands what was read on as the command does: errors in it are reported, and nothing else may happen. Anything refused
 * must have a message. Takes the reference to `config`. */
static inline void read_on(enum sl_status status, json_t *config) {
  struct sl_json doc;
  struct sl_config out;
  if (status != SL_OK) {
    if (sl_error_message()[0] == '\0') abort();
    return;
  }
  char *text = json_dumps(config, 0);
  if (text == NULL || sl_json_parse(&doc, "imported", text, strlen(text)) != SL_OK) abort();
  if (sl_config_from_json(&out, &doc, true) == SL_OK)
    sl_config_free(&out);
  else if (sl_error_message()[0] == '\0')
    abort();
  free(text);
  json_decref(config);
}

static inline void begin_quietly(void) {
  sl_warn_set_sink(swallow, NULL);
  sl_error_clear();
}
