/* From options to a plan and its programs: what every command that takes a model, a config and a cluster does first. */
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

/* The config alone, flags overriding its keys. */
enum sl_status sl_setup_config(struct sl_config *config, const struct sl_options *options);
/* The inputs and the plan. */
enum sl_status sl_setup_plan(struct sl_setup *setup, const struct sl_options *options);
/* Who asks for programs: a rank of a job, beside others on this machine; who looks at them or proves them; or the simulator alone, for
 * which what repeats in a step is stored once. All but the first may use every core. */
enum sl_setup_for { SL_SETUP_RANK, SL_SETUP_PROGRAMS, SL_SETUP_SIMULATION };
/* The plan and the programs. */
enum sl_status sl_setup_job(struct sl_setup *setup, const struct sl_options *options, enum sl_setup_for use);
/* Free what is there; a zeroed or half-built setup is fine. */
void sl_setup_free(struct sl_setup *setup);
