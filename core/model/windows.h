/* Which layers see only a window of keys. */
#pragma once

#include "core/base/json_get.h"
#include "core/model/model.h"

/* Gives layer i a window if (i + 1) % period != 0 and i >= first; period 0: every layer from `first` on. */
void sl_windows_every(struct sl_model *model, int64_t period, int64_t first);
/* The same, unless the file lists each layer's kind in layer_types. Without a window size no layer has one. */
enum sl_status sl_windows_read(struct sl_model *model, const struct sl_json_object *in, int64_t period, int64_t first);
/* The same for Qwen's files, where use_sliding_window (absent: false) says whether any layer has the window, and
 * max_window_layers (28) from which layer on. */
enum sl_status sl_windows_read_qwen(struct sl_model *model, const struct sl_json_object *in);
/* The value of layer_types; NULL if no layer has a window. */
json_t *sl_windows_types(const struct sl_model *model);
