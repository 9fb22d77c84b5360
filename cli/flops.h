/* The flops profiler of predict and measure: a record's "flops_profile", and its printed table. */
#pragma once

#include "cli/options.h"
#include "cli/setup.h"
#include "core/run/module_profile.h"
#include "core/run/phases.h"

#include <jansson.h>

struct sl_flops {
  const struct sl_setup *setup;
  bool on;       /* flops_profiler.enabled, and this process has rank 0 */
  bool measures; /* the ops that are added are measured ones, of step flops_profiler.profile_step; otherwise predicted
                  * ones, of any step */
  struct sl_module_profile own, predicted;
  struct sl_phase_times times; /* of that step, with wall_clock_breakdown; forward 0 if there are none */
};

/* For rank 0 of a run. Does nothing unless the configuration enables the profiler. */
enum sl_status sl_flops_open(struct sl_flops *flops, const struct sl_setup *setup, bool measures);
/* Adds a completion of rank 0. */
void sl_flops_add(struct sl_flops *flops, int64_t step, const struct sl_program *program,
                  const struct sl_completion *done);
/* Call after each step whose phases are timed. */
void sl_flops_time(struct sl_flops *flops, int64_t step, const struct sl_phase_times *times);
/* Puts the profile into the record, with a prediction next to what was measured. A run that ended before profile_step
 * has no profile, and a warning says so. */
enum sl_status sl_flops_put(struct sl_flops *flops, json_t *record);
/* Prints the record's profile in DeepSpeed's form to flops_profiler.output_file, or else to `out`. */
enum sl_status sl_flops_tell(const struct sl_config *config, const json_t *record, FILE *out);
void sl_flops_close(struct sl_flops *flops);
