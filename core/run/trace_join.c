/* Joins a predicted and a measured trace in one file, with the last step of both starting at the same instant; see
 * trace.h. */
#include "core/run/trace.h"

#include "core/base/json.h"

#include <jansson.h>
#include <stdint.h>
#include <string.h>

static bool is_slice(const json_t *event) {
  const char *phase = json_string_value(json_object_get(event, "ph"));
  return phase != NULL && strcmp(phase, "X") == 0;
}

/* Does the event belong to a training step, and not to a program before or after? */
static bool in_step(const json_t *event) {
  const char *category = json_string_value(json_object_get(event, "cat"));
  return is_slice(event) && category != NULL && strcmp(category, sl_phase_name(SL_PHASE_INIT)) != 0 &&
         strcmp(category, sl_phase_name(SL_PHASE_SAVE)) != 0;
}

/* When the last step begins, in microseconds; 0 without one. */
static json_int_t last_step(const json_t *events) {
  json_int_t last = -1, start = INT64_MAX;
  json_t *event;
  size_t i;
  json_array_foreach((json_t *)events, i, event) {
    const json_int_t step = json_integer_value(json_object_get(json_object_get(event, "args"), "step"));
    const json_int_t ts = json_integer_value(json_object_get(event, "ts"));
    if (!in_step(event) || step < last) continue;
    if (step > last || ts < start) start = ts;
    last = step;
  }
  return last >= 0 ? start : 0;
}

static enum sl_status load(json_t **root, json_t **events, const char *path) {
  json_error_t error;
  *root = json_load_file(path, 0, &error);
  if (*root == NULL) return sl_fail(SL_ERR_INPUT, "%s:%d: %s; expected a trace", path, error.line, error.text);
  *events = json_object_get(*root, "traceEvents");
  if (!json_is_array(*events)) return sl_fail(SL_ERR_INPUT, "%s: has no list traceEvents; expected a trace", path);
  return SL_OK;
}

static void move(json_t *events, json_int_t microseconds) {
  json_t *event;
  size_t i;
  json_array_foreach(events, i, event) {
    json_t *ts = json_object_get(event, "ts");
    if (ts != NULL) json_object_set_new(event, "ts", json_integer(json_integer_value(ts) + microseconds));
  }
}

enum sl_status sl_trace_join(const char *path, const char *predicted, const char *measured) {
  enum sl_status status;
  json_t *root = NULL, *other = NULL, *events, *others;
  SL_GO(load(&root, &events, predicted));
  SL_GO(load(&other, &others, measured));
  const json_int_t ahead = last_step(events) - last_step(others);
  move(ahead > 0 ? others : events, ahead > 0 ? ahead : -ahead); /* shifted later, so that no time becomes negative */
  if (json_array_extend(events, others) != 0) SL_GO(sl_fail(SL_ERR_MEMORY, "out of memory: the joined trace"));
  SL_GO(sl_json_save(root, path));
done:
  json_decref(root);
  json_decref(other);
  return status;
}
