/* One configuration on both clocks. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/job.h"
#include "core/program/memory_report.h"
#include "fast/fast.h"
#include "sim/sim.h"

/* Reproducible random numbers (Numerical Recipes' generator). */
static inline uint64_t drawn(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}
struct against {
  struct sl_model model;
  struct sl_config config;
  struct sl_cluster cluster;
  struct sl_fast *fast;
};

static inline enum sl_status against_open(struct against *a, const char *model, const char *config,
                                          const char *cluster) {
  memset(a, 0, sizeof *a);
  SL_TRY(sl_model_load(&a->model, model));
  SL_TRY(sl_config_parse(&a->config, "test.json", config, strlen(config), false));
  SL_TRY(sl_cluster_load(&a->cluster, cluster));
  return sl_fast_open(&a->fast, &a->model, &a->config, &a->cluster);
}

static inline void against_close(struct against *a) {
  sl_fast_close(a->fast);
  sl_cluster_free(&a->cluster);
  sl_config_free(&a->config);
  sl_model_free(&a->model);
}

/* Results of the exact clock: the step time, and the peak live bytes and the arena of the fullest rank. */
struct exact {
  double seconds, live, arena;
};

static inline enum sl_status exact(const struct against *a, const struct sl_fast_choice *c, struct exact *out) {
  const struct sl_build_options options = {.repeated = true};
  struct sl_config config;
  struct sl_plan plan = {0};
  struct sl_job job = {0};
  enum sl_status status;
  sl_fast_configure(&a->config, c, &config);
  SL_GO(sl_plan_build(&plan, &a->model, &config, &a->cluster, c->world));
  SL_GO(sl_job_build(&job, &plan, &options));
  struct sl_run run = {.exec = &sl_exec_sim, .job = &job, .options = {.fold = true, .fail_rank = -1}, .steps = 1};
  SL_GO(sl_run_execute(&run));
  *out = (struct exact){.seconds = run.results[0].end_s - run.results[0].start_s};
  for (int i = 0; i < job.class_count; i++) {
    const double live = (double)job.classes[i].memory[SL_SPACE_DEVICE].live_peak_bytes;
    const double arena = (double)job.classes[i].arena_bytes[SL_SPACE_DEVICE];
    if (live > out->live) out->live = live;
    if (arena > out->arena) out->arena = arena;
  }
  sl_run_close(&run);
done:
  sl_job_free(&job);
  sl_plan_free(&plan);
  return status;
}
