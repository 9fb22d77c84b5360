/* See history.h. */
#include "core/checkpoint/history.h"

#include <math.h>
#include <stdlib.h>

static const char *const lists[] = {"losses", "grad_norms", "learning_rates"};
enum { LISTS = sizeof lists / sizeof *lists };

static json_t *number(double value) {
  return isfinite(value) ? json_real(value) : json_null();
}

/* The list `key` of the earlier history, or a new one. */
static json_t *list_of(const json_t *before, const char *key) {
  json_t *list = json_object_get(before, key);
  return list != NULL ? json_copy(list) : json_array();
}

json_t *sl_history_make(const json_t *before, const struct sl_run *run, int64_t count) {
  if (run->results == NULL) return NULL;
  json_t *all[LISTS], *skipped = list_of(before, "skipped"), *history = json_object();
  const int64_t first = before != NULL ? sl_history_first(before) : run->options.first_step;
  for (int k = 0; k < LISTS; k++) all[k] = list_of(before, lists[k]);
  for (int64_t i = 0; i < count; i++) {
    const struct sl_step_result *r = &run->results[i];
    const double values[LISTS] = {r->loss, r->grad_norm, r->lr};
    for (int k = 0; k < LISTS; k++) json_array_append_new(all[k], number(values[k]));
    if (r->skipped) json_array_append_new(skipped, json_integer(run->options.first_step + i + 1));
  }
  json_object_set_new(history, "first_step", json_integer(first));
  for (int k = 0; k < LISTS; k++) json_object_set_new(history, lists[k], all[k]);
  if (json_object_set_new(history, "skipped", skipped) == 0) return history;
  json_decref(history);
  return NULL;
}

enum sl_status sl_history_check(const struct sl_json_object *in, int64_t step) {
  int64_t first = -1;
  json_t *item;
  size_t i;
  if (!json_is_object(in->object)) return sl_json_get_fail(in, "first_step", "an object around it");
  SL_TRY(sl_json_get_int(in, "first_step", 0, step, &first));
  if (first < 0) return sl_json_get_fail(in, "first_step", "a whole number");
  for (int k = 0; k < LISTS; k++) {
    const json_t *list = sl_json_get(in, lists[k]);
    bool good = json_is_array(list) && json_array_size(list) == (size_t)(step - first);
    json_array_foreach(list, i, item) good = good && (json_is_number(item) || json_is_null(item));
    if (!good) return sl_json_get_fail(in, lists[k], "a list of %lld numbers, one a step", (long long)(step - first));
  }
  const json_t *skipped = sl_json_get(in, "skipped");
  bool good = json_is_array(skipped);
  json_array_foreach(skipped, i, item) good =
      good && json_is_integer(item) && json_integer_value(item) > first && json_integer_value(item) <= step;
  return good ? SL_OK : sl_json_get_fail(in, "skipped", "a list of steps from %lld on", (long long)first + 1);
}

int64_t sl_history_first(const json_t *history) {
  return history != NULL ? (int64_t)json_integer_value(json_object_get(history, "first_step")) : -1;
}

/* The elements of `list` from index `from` on, followed by those of `rest`; a new reference. */
static json_t *joined(const json_t *list, size_t from, const json_t *rest) {
  json_t *all = json_array();
  for (size_t i = from; i < json_array_size(list); i++) json_array_append(all, json_array_get(list, i));
  json_array_extend(all, (json_t *)(uintptr_t)rest);
  return all;
}

enum sl_status sl_history_put(const json_t *history, int64_t from, json_t *record) {
  const size_t at = (size_t)(from - sl_history_first(history));
  json_int_t skipped = json_integer_value(json_object_get(record, "skipped_steps"));
  json_t *item;
  size_t i;
  for (int k = 0; k < LISTS; k++)
    if (json_object_set_new(record, lists[k],
                            joined(json_object_get(history, lists[k]), at, json_object_get(record, lists[k]))) != 0)
      return sl_fail(SL_ERR_MEMORY, "out of memory: the losses of the steps before");
  json_array_foreach(json_object_get(history, "skipped"), i, item) skipped += json_integer_value(item) > from;
  json_object_set_new(record, "skipped_steps", json_integer(skipped));
  json_object_set_new(record, "steps", json_integer((json_int_t)json_array_size(json_object_get(record, "losses"))));
  json_object_del(record, "first_step");
  if (from > 0) json_object_set_new(record, "first_step", json_integer(from));
  return SL_OK;
}

double sl_history_loss(const json_t *history, int64_t from) {
  const json_t *losses = json_object_get(history, "losses");
  double sum = 0;
  for (size_t i = (size_t)(from - sl_history_first(history)); i < json_array_size(losses); i++) {
    const json_t *loss = json_array_get(losses, i);
    sum += json_is_number(loss) ? json_number_value(loss) : NAN;
  }
  return sum;
}
