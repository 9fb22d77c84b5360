/* See windows.h. */
#include "core/model/windows.h"

#include <stdio.h>
#include <string.h>

static const char *const types[] = {"full_attention", "sliding_attention"};

static void set(struct sl_model *model, int64_t layer) {
  model->form.windowed[layer / 64] |= UINT64_C(1) << layer % 64;
}

void sl_windows_every(struct sl_model *model, int64_t period, int64_t first) {
  for (int64_t i = first; i < model->n_layer && model->form.window > 0; i++)
    if (period == 0 || (i + 1) % period != 0) set(model, i);
}

static enum sl_status read_types(struct sl_model *model, const struct sl_json_object *in, const json_t *list) {
  if (!json_is_array(list) || (int64_t)json_array_size(list) != model->n_layer)
    return sl_json_get_fail(in, "layer_types", "a list of %lld, one for each layer", (long long)model->n_layer);
  for (int64_t i = 0; i < model->n_layer; i++) {
    const char *type = json_string_value(json_array_get(list, (size_t)i));
    char path[40];
    snprintf(path, sizeof path, "layer_types[%lld]", (long long)i);
    if (type == NULL || (strcmp(type, types[0]) != 0 && strcmp(type, types[1]) != 0))
      return sl_json_fail(in->doc, path, "expected \"%s\" or \"%s\"", types[0], types[1]);
    if (model->form.window > 0 && strcmp(type, types[1]) == 0) set(model, i);
  }
  return SL_OK;
}

enum sl_status sl_windows_read(struct sl_model *model, const struct sl_json_object *in, int64_t period, int64_t first) {
  const json_t *list = sl_json_get(in, "layer_types");
  if (list != NULL) return read_types(model, in, list);
  sl_windows_every(model, period, first);
  return SL_OK;
}

int64_t sl_model_window(const struct sl_model *model, int layer) {
  if (layer < 0 || layer >= model->n_layer) return 0;
  return model->form.windowed[layer / 64] >> layer % 64 & 1 ? model->form.window : 0;
}

const struct sl_rotary *sl_model_rotary(const struct sl_model *model, int layer) {
  return sl_model_window(model, layer) > 0 ? &model->form.rotary_windowed : &model->form.rotary;
}

bool sl_model_blocks_alike(const struct sl_model *model) {
  for (int i = 1; i < model->n_layer; i++)
    if (sl_model_window(model, i) != sl_model_window(model, 0)) return false;
  return true;
}

json_t *sl_windows_types(const struct sl_model *model) {
  if (model->form.window == 0) return NULL;
  json_t *list = json_array();
  for (int i = 0; i < model->n_layer; i++)
    json_array_append_new(list, json_string(types[sl_model_window(model, i) > 0]));
  return list;
}

enum sl_status sl_windows_read_qwen(struct sl_model *model, const struct sl_json_object *in) {
  bool uses_window = false;
  int64_t first = 28;
  SL_TRY(sl_json_get_bool(in, "use_sliding_window", &uses_window));
  SL_TRY(sl_json_get_int(in, "max_window_layers", 0, SL_MAX_LAYERS, &first));
  if (!uses_window) model->form.window = 0;
  return sl_windows_read(model, in, 0, first);
}
