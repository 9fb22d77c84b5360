/* Compares a plan with a limit on device memory; see fit.h. */
#include "cli/fit.h"

#include "cli/changes.h"
#include "core/base/units.h"

#include <stdio.h>
#include <string.h>

enum { NAMED = 3 }; /* changes in an error message */

/* The largest device arena of all ranks, and the first rank that needs it. */
static int64_t needed(const struct sl_setup *setup, int *rank) {
  int64_t most = -1;
  for (int i = 0; i < setup->job.class_count; i++) {
    const struct sl_class *c = &setup->job.classes[i];
    if (c->arena_bytes[SL_SPACE_DEVICE] <= most) continue;
    most = c->arena_bytes[SL_SPACE_DEVICE];
    *rank = c->first_rank;
  }
  return most;
}

/* "what fits: --offload-optimizer cpu (400 MiB); or ...", with at most NAMED changes. */
static void advise(char *out, size_t size, const struct sl_options *options, const struct sl_setup *setup) {
  struct sl_changes changes;
  char text[32], flags[160];
  size_t used = 0;
  sl_changes_find(&changes, options, setup);
  for (int i = 0; i < changes.count && i < NAMED && used < size; i++) {
    sl_change_text(&changes.change[i], flags, sizeof flags);
    sl_format_bytes(text, sizeof text, (double)changes.change[i].trial.prediction.spaces.arena_bytes);
    used += (size_t)snprintf(out + used, size - used, "%s%s (%s)", i == 0 ? "what fits: " : "; or ", flags, text);
  }
  if (changes.count > 0) return;
  sl_format_bytes(text, sizeof text, (double)changes.states_bytes);
  if (changes.states_bytes > 0) {
    snprintf(out, size, "parameters and optimizer states alone are %s, more than all ranks and their hosts have", text);
    return;
  }
  if (changes.least_bytes == 0) {
    snprintf(out, size, "there is nothing to try");
    return;
  }
  sl_format_bytes(text, sizeof text, (double)changes.least_arena_bytes);
  snprintf(out, size, "nothing that was tried fits: the least takes %s", text);
}

enum sl_status sl_fit_check(const struct sl_options *options, const struct sl_setup *setup) {
  const int64_t limit = setup->cluster.device.device_memory;
  int rank = 0;
  char need[32], have[32], over[32], advice[512] = "";
  const int64_t bytes = needed(setup, &rank);
  if (limit == 0 || bytes <= limit) return SL_OK;
  advise(advice, sizeof advice, options, setup);
  sl_format_bytes(need, sizeof need, (double)bytes);
  sl_format_bytes(have, sizeof have, (double)limit);
  sl_format_bytes(over, sizeof over, (double)(bytes - limit));
  return sl_fail(SL_ERR_INPUT, "%s: rank %d needs %s of device memory, %s more than the %s it may have; %s",
                 options->device_memory > 0 ? "--device-memory" : "device.device_memory_GiB", rank, need, over, have,
                 advice);
}

static json_t *change_json(const struct sl_change *change) {
  char flags[160];
  sl_change_text(change, flags, sizeof flags);
  return json_pack("{s:s, s:I, s:f, s:f}", "flags", flags, "need_bytes", (json_int_t)sl_trial_need(&change->trial),
                   "step_time_s", change->trial.prediction.step_s, "tokens_per_s", change->trial.tokens_per_s);
}

void sl_fit_advise(const struct sl_options *options, const struct sl_setup *setup, json_t *record) {
  struct sl_changes changes;
  json_t *verdict = json_object_get(record, "verdict"), *list = json_array();
  if (json_is_true(json_object_get(verdict, "fits"))) {
    json_decref(list);
    return;
  }
  sl_changes_find(&changes, options, setup);
  for (int i = 0; i < changes.count; i++) json_array_append_new(list, change_json(&changes.change[i]));
  json_object_set_new(verdict, "changes", list);
  if (changes.states_bytes > 0) json_object_set_new(verdict, "states_bytes", json_integer(changes.states_bytes));
  if (changes.count == 0 && changes.least_bytes > 0)
    json_object_set_new(verdict, "least_bytes", json_integer(changes.least_bytes));
}

enum sl_status sl_fit_require(const struct sl_options *options, const json_t *record) {
  const json_t *verdict = json_object_get(record, "verdict");
  if (!options->require_fit || json_is_true(json_object_get(verdict, "fits"))) return SL_OK;
  return sl_fail(SL_ERR_CHECK, "--require-fit: it does not fit: %s",
                 json_string_value(json_object_get(verdict, "understood")));
}
