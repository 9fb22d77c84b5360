/* The flops profiler of predict and measure: a record's "flops_profile", and the table of it. */
#pragma once

#include "cli/options.h"
#include "cli/setup.h"
#include "core/run/module_profile.h"
#include "core/run/phases.h"

#include <jansson.h>

struct sl_flops {
  const struct sl_setup *setup;
  bool on;       /* flops_profiler.enabled, and this process has rank 0 */
  bool measures; /* ops that are added were measured: of step flops_profiler.profile_step; else predicted, of any */
  struct sl_module_profile own, predicted;
  struct sl_phase_times times; /* of that step, with wall_clock_breakdown; forward 0: there are none */
};

/* For rank 0 of a run, where the configuration asks for it. */
enum sl_status sl_flops_open(struct sl_flops *flops, const struct sl_setup *setup, bool measures);
/* Add a completion of rank 0. */
void sl_flops_add(struct sl_flops *flops, int64_t step, const struct sl_program *program,
                  const struct sl_completion *done);
/* Of each step that ends, where its phases are timed. */
void sl_flops_time(struct sl_flops *flops, int64_t step, const struct sl_phase_times *times);
/* What was added, with a prediction beside what was measured, into the record; a run that ended before profile_step has none and
 * says so. */
enum sl_status sl_flops_put(struct sl_flops *flops, json_t *record);
/* The record's profile in DeepSpeed's form: to flops_profiler.output_file, or to `out`. */
enum sl_status sl_flops_tell(const struct sl_config *config, const json_t *record, FILE *out);
void sl_flops_close(struct sl_flops *flops);
