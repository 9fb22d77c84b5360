/* What one process of a run contributes to the record, and the exchange of these parts. Internal to core/record. */
#pragma once

#include "core/record/record.h"

static inline void set_integer(json_t *object, const char *key, int64_t value) {
  json_object_set_new(object, key, json_integer(value));
}

static inline void set_real(json_t *object, const char *key, double value) {
  json_object_set_new(object, key, json_real(value));
}

/* {step_times_s, init_time_s, breakdown_s, losses.., ranks: [{rank, space bytes, traffic..}]} of this process. */
enum sl_status sl_record_part(const struct sl_run *run, const struct sl_timeline *timeline, json_t **out);
/* The parts of all processes in rank order, as an array; takes ownership of `mine`. */
enum sl_status sl_record_gather(const struct sl_run *run, json_t *mine, json_t **all);
