/* Fuzz target: settings of torchtitan. What is read is a configuration as we write them, or refused with a message. */
#include "core/config/config.h"
#include "core/interop/torchtitan.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void swallow(void *context, const char *message) {
  (void)context;
  (void)message;
}

/* The document as the command hands it on: what is wrong in it is said, and nothing else happens. */
static void read_on(const json_t *config) {
  struct sl_json doc;
  struct sl_config out;
  char *text = json_dumps(config, 0);
  if (text == NULL || sl_json_parse(&doc, "imported", text, strlen(text)) != SL_OK) abort();
  if (sl_config_from_json(&out, &doc, true) == SL_OK)
    sl_config_free(&out);
  else if (sl_error_message()[0] == '\0')
    abort();
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  json_t *config;
  json_t *model;
  int64_t world = 8;
  sl_warn_set_sink(swallow, NULL);
  sl_error_clear();
  if (sl_torchtitan_read("fuzz", (const char *)data, size, 0, &world, &config, &model) == SL_OK) {
    read_on(config);
    json_decref(config);
    json_decref(model);
  } else if (sl_error_message()[0] == '\0') {
    abort();
  }
  return 0;
}
