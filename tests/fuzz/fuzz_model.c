/* Any text as a config.json: what loads has positive sizes, finite flops, and a dump that loads again. */
#include "core/model/model.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void ignore(void *context, const char *message) {
  (void)context, (void)message;
}

static void check(const struct sl_model *model) {
  if (sl_model_numel(model) < 1 || !isfinite(sl_model_flops(model, 1 << 20, 1 << 12))) abort();
  for (int i = 0; i < model->tensor_count; i++)
    if (model->tensors[i].numel < 1 || !isfinite(model->tensors[i].init_scale)) abort();
  json_t *dump = sl_model_to_json(model);
  char *text = json_dumps(dump, 0);
  struct sl_json doc;
  struct sl_model again;
  if (text == NULL || sl_json_parse(&doc, "dump", text, strlen(text)) != SL_OK) abort();
  if (sl_model_from_json(&again, &doc) != SL_OK || sl_model_numel(&again) != sl_model_numel(model)) abort();
  sl_model_free(&again);
  sl_json_free(&doc);
  free(text);
  json_decref(dump);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  struct sl_json doc;
  struct sl_model model;
  sl_warn_set_sink(ignore, NULL);
  if (sl_json_parse(&doc, "fuzz", (const char *)bytes, size) == SL_OK) {
    if (sl_model_from_json(&model, &doc) == SL_OK) {
      check(&model);
      sl_model_free(&model);
    }
    sl_json_free(&doc);
  }
  sl_error_clear();
  return 0;
}
