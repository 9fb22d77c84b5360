/* From options to a plan and its programs: the first thing that every command does that takes a model, a config and a
 * cluster. */
#pragma once

#include "cli/options.h"
#include "core/program/program.h"

struct sl_setup {
  struct sl_model model;
  struct sl_config config;
  struct sl_cluster cluster;
  struct sl_plan plan;
  struct sl_job job;
};

/* Reads only the config, with flags overriding its keys. */
enum sl_status sl_setup_config(struct sl_config *config, const struct sl_options *options);
/* Reads the inputs and makes the plan. */
enum sl_status sl_setup_plan(struct sl_setup *setup, const struct sl_options *options);
/* Who needs the programs: a rank of a job, next to others on this machine; a command that shows or checks them; or only
 * the simulator, for which repeated parts of a step are stored once; or one of several that simulate side by side. All
 * but a rank and the last may use every core. */
enum sl_setup_for { SL_SETUP_RANK, SL_SETUP_PROGRAMS, SL_SETUP_SIMULATION, SL_SETUP_WORKER };
/* Makes the plan and the programs. */
enum sl_status sl_setup_job(struct sl_setup *setup, const struct sl_options *options, enum sl_setup_for use);
/* The same, but SL_DONE, without any message, once a rank of our own kernels is known to need more than
 * `most_live_bytes` of the device, if that is above 0. */
enum sl_status sl_setup_job_within(struct sl_setup *setup, const struct sl_options *options, enum sl_setup_for use,
                                   int64_t most_live_bytes);
/* Accepts a zeroed or partially built setup. */
void sl_setup_free(struct sl_setup *setup);
